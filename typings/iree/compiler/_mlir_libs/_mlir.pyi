# Types for `iree.compiler._mlir_libs._mlir`, checked against iree-base-compiler 3.13. Only what constpolicy uses.

class _Globals:
    dialect_search_modules: list[str]

globals: _Globals
