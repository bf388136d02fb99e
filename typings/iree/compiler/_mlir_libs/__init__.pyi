# Types for `iree.compiler._mlir_libs`. Only what constpolicy uses.
