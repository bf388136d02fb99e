"""The content of constants: which are the same bytes, whatever their shapes, and what the file holds for them.

A constant's key is its resource's key, its parameter's scope and key, its global's symbol, or a hash of its bytes
with its element type. Folders write one blob under several shapes; those get one key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from iree.compiler import ir

from constpolicy.candidates.content_key import HASHED_WHOLE, content_key, short
from constpolicy.candidates.value_types import stored_size, value_type
from constpolicy.compiler.elements import elements
from constpolicy.records import Origin, ValueType

CONSTANTS = frozenset({"arith.constant", "flow.tensor.constant"})
LOADS = frozenset({"util.global.load"})

_RESOURCE = re.compile(r"dense_resource<(?:\"((?:[^\"\\]|\\.)*)\"|([^>]*))>")
_PARAMETER = re.compile(r"#(?:flow|stream)\.parameter\.named<(?:\"([^\"]*)\"::)?\"([^\"]*)\"")
_PATTERN = "#util.byte_pattern"
_UNINITIALIZED = "#util.uninitialized"


@dataclass(frozen=True)
class Content:
    """What a constant-like op holds.

    `key` and `name` are those of records.Source; `bytes` the full size of the value, `stored_bytes` what the file
    holds for it: 0 for splats, parameters, and globals that are computed.
    """

    key: str
    name: str
    type: ValueType
    bytes: int
    stored_bytes: int
    origin: Origin
    splat: bool


class Contents:
    """The contents of a module's constants.

    Every distinct attribute is looked at once. Bytes are read only of `dense` attributes, in place, and of large
    ones only samples, unless two agree in those.
    """

    def __init__(self, globals_by_name: Mapping[str, ir.Operation]) -> None:
        """`globals_by_name`: the module's util.global ops by symbol name, without "@"."""
        self._globals = globals_by_name
        self._dense_keys: dict[int, str] = {}  # by the attribute's identity
        self._first_of: dict[str, memoryview] = {}  # the first large constant met with a key
        self._hash_of_first: dict[str, str] = {}  # of its whole bytes, once a second one has the same samples

    def of(self, op: ir.Operation) -> Content | None:
        """The content of a constant or of a load of a global; None for scalars and for every other op."""
        if op.name in LOADS:
            return self._of_load(op)
        if op.name not in CONSTANTS or not isinstance(op.results[0].type, ir.RankedTensorType):
            return None
        return self._of_attribute(op, "value", value_type(op.results[0].type))

    def initial_value(self, global_op: ir.Operation) -> Content | None:
        """The content that a util.global starts with; None if it has none, or is no tensor."""
        type = ir.TypeAttr(global_op.attributes["type"]).value
        if "initial_value" not in global_op.attributes or not isinstance(type, ir.RankedTensorType):
            return None
        return self._of_attribute(global_op, "initial_value", value_type(type))

    def _of_load(self, load: ir.Operation) -> Content:
        name = ir.FlatSymbolRefAttr(load.attributes["global"]).value
        type = value_type(load.results[0].type)
        initial = self.initial_value(self._globals[name]) if name in self._globals else None
        stored = initial.stored_bytes if initial else 0
        splat = initial.splat if initial else False
        return Content(f"@{name}", f"@{name}", type, stored_size(type), stored, Origin.GLOBAL, splat)

    def _of_attribute(self, op: ir.Operation, attribute: str, type: ValueType) -> Content:
        size = stored_size(type)
        dense = elements(op, attribute)
        if dense is not None:
            if dense.identity not in self._dense_keys:
                self._dense_keys[dense.identity] = self._dense_key(op, attribute, type)
            key = self._dense_keys[dense.identity]
            return Content(key, key, type, size, 0 if dense.is_splat else size, Origin.DENSE, dense.is_splat)
        text = str(op.attributes[attribute])
        if match := _PARAMETER.match(text):
            name = "::".join(part for part in match.groups() if part is not None)
            return Content(f"parameter {name}", name, type, size, 0, Origin.PARAMETER, False)
        if match := _RESOURCE.match(text):
            name = match.group(1) or match.group(2)
            return Content(f"resource {name}", name, type, size, size, Origin.RESOURCE, False)
        splat = text.startswith((_PATTERN, _UNINITIALIZED))
        key = f"attribute {short(hashlib.sha256(text.encode()).hexdigest())}"
        return Content(key, key, type, size, 0 if splat else size, Origin.DENSE, splat)

    def _dense_key(self, op: ir.Operation, attribute: str, type: ValueType) -> str:
        dense = elements(op, attribute)
        assert dense is not None
        count, width = prod(type.shape or ()), (type.element_bits + 7) // 8
        if dense.is_splat:
            return f"{type.element_type} 0x{dense.data(width).hex()} x{count}"
        # older versions keep booleans as bits; the bindings unpack them
        if type.element_type == "i1":
            data = memoryview(ir.DenseElementsAttr(op.attributes[attribute])).cast("B")
        else:
            data = dense.data(count * width)
        key = content_key(type.element_type, data)
        return key if len(data) <= HASHED_WHOLE else self._key_of_large(key, data)

    def _key_of_large(self, key: str, data: memoryview) -> str:
        """The key, which is of samples; where other bytes have the same samples, with a hash of the whole."""
        if self._first_of.setdefault(key, data) is data:
            return key
        if key not in self._hash_of_first:
            self._hash_of_first[key] = short(hashlib.sha256(self._first_of[key]).hexdigest())
        whole = short(hashlib.sha256(data).hexdigest())
        return key if whole == self._hash_of_first[key] else f"{key}-{whole}"
