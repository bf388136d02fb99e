# Types for `iree.compiler.tools`, checked against iree-base-compiler 3.13. Only what constpolicy uses.
