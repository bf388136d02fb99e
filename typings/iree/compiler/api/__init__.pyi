# Types for `iree.compiler.api`. To use more of it, add it to ctypes_dl.pyi and re-export it here.
from iree.compiler.api.ctypes_dl import Invocation as Invocation
from iree.compiler.api.ctypes_dl import Output as Output
from iree.compiler.api.ctypes_dl import Session as Session
from iree.compiler.api.ctypes_dl import Source as Source
from iree.compiler.api.ctypes_dl import _initializeGlobalCL as _initializeGlobalCL
