# Types for what constpolicy uses of the package `iree.compiler`, which ships none of its own.
