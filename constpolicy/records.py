"""The records that pass between the parts of constpolicy: what a program offers and what was decided.

Nothing here knows IREE or YAML. All sizes are bytes as IREE stores them (sub-byte elements are packed to
whole bytes per element unless IREE packs them), all records are immutable, and all of them compare by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

INITIALIZER_BYTES = 1024  # what the code of an initializer adds to the file: smaller results are better stored


class Action(str, Enum):
    """What becomes of a candidate."""

    EVALUATE = "evaluate"  # computed while compiling; the result is stored in the file
    INITIALIZE = "initialize"  # computed once per module load, by an initializer
    INLINE = "inline"  # computed on every call, at its uses
    FUSE = "fuse"  # on every call where it fuses into its consumers, else as INITIALIZE
    SHARE = "share"  # evaluated, and the source's other readers read the result instead

    def __str__(self) -> str:
        return self.value


class Kind(str, Enum):
    """What an op of a const-expr does to its operands."""

    TRANSPOSE = "transpose"
    BROADCAST = "broadcast"
    PACK = "pack"  # layout changes: pack, unpack, set_encoding
    GATHER = "gather"
    RESHAPE = "reshape"
    SLICE = "slice"
    CONCAT = "concat"
    PAD = "pad"
    FILL = "fill"  # a splat made dense
    IOTA = "iota"
    CAST = "cast"
    DEQUANTIZE = "dequantize"  # a cast from a narrower integer or float together with a scale or a zero point
    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    CONTRACTION = "contraction"
    SCALAR = "scalar"
    CONTROL_FLOW = "control_flow"
    OTHER = "other"

    def __str__(self) -> str:
        return self.value


class Phase(str, Enum):
    """The IREE phase whose HoistIntoGlobals made the candidate."""

    GLOBAL_OPTIMIZATION = "global-optimization"
    DISPATCH_CREATION = "dispatch-creation"

    def __str__(self) -> str:
        return self.value


class Origin(str, Enum):
    """What kind of thing a source is."""

    DENSE = "dense"  # an inline `dense<...>` attribute
    RESOURCE = "resource"  # a `dense_resource<key>`
    PARAMETER = "parameter"  # `#flow.parameter.named` or `#stream.parameter.named`: its bytes are not in the file
    GLOBAL = "global"  # loaded from a global: another candidate's, or one of the user's own

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class ValueType:
    """The type of a constant, a result or a global.

    `text` is MLIR's spelling. `shape` is None for what is not a tensor with static shape; scalars have the empty shape.
    """

    text: str
    element_type: str
    shape: tuple[int, ...] | None
    element_bits: int

    @property
    def rank(self) -> int:
        return 0 if self.shape is None else len(self.shape)


@dataclass(frozen=True)
class Reader:
    """One op outside the candidate that reads a value: which symbol it stands in, and what it does with it."""

    symbol: str  # "@main", or "initializer of @name" for an initializer
    kind: Kind
    is_initializer: bool = False
    location: str | None = None


@dataclass(frozen=True)
class Source:
    """A constant that a candidate reads.

    `key` identifies the content: two sources with one key are stored once. For Origin.GLOBAL it is "@symbol".
    `name` is what a person calls it: a dense_resource or parameter key, "@symbol", or the short content hash.
    `bytes` is the full size of the value; `stored_bytes` what the file holds for it as long as anything
    reads it (0 for splats, parameters and other candidates' globals).
    `readers` are those outside every candidate: functions and the users' own initializers.
    """

    key: str
    name: str
    type: ValueType
    bytes: int
    stored_bytes: int
    origin: Origin
    splat: bool
    readers: tuple[Reader, ...] = ()
    location: str | None = None

    @property
    def shared(self) -> bool:
        """Whether anything outside the candidates reads it, so that evaluating cannot make it die."""
        return bool(self.readers)


@dataclass(frozen=True)
class HoistedGlobal:
    """A global that a candidate's initializer stores to."""

    symbol: str  # "@__hoisted_tensor_64x2000xf32"
    type: ValueType
    bytes: int


@dataclass(frozen=True)
class ShareOffer:
    """How `share` would keep one copy: the source that dies and what its other readers pay."""

    source_key: str
    saved_bytes: int  # bytes of the source, which is no longer stored
    added_stride_bytes: int  # largest distance in bytes between neighbouring elements of a gathered row
    gathered_rows: int | None  # rows gathered per call from the source, None when unknown
    whole_table: bool  # some reader reads every element, not only rows or slices


# What makes equal elements of equal elements.
_UNIFORM = frozenset(
    {Kind.ELEMENTWISE, Kind.BROADCAST, Kind.TRANSPOSE, Kind.RESHAPE, Kind.CAST, Kind.DEQUANTIZE, Kind.FILL, Kind.SLICE}
)


@dataclass(frozen=True)
class Candidate:
    """One hoisted const-expr: its initializer, the globals that it stores, the loads of them.

    `id` is a fingerprint of the expression and its sources that survives renumbering.
    `refusals` says, for each action that this candidate cannot have, why. An action that is absent is legal.
    """

    id: str
    globals: tuple[HoistedGlobal, ...]
    kind: Kind  # of the op that computes the (first) result, seen through reshapes
    kinds: frozenset[Kind]  # of all ops in the body
    sources: tuple[Source, ...]
    readers: tuple[Reader, ...]  # of the globals: functions and other initializers
    phase: Phase = Phase.GLOBAL_OPTIMIZATION
    affinity: str | None = None
    location: str | None = None  # "file:line:column" in the input, when known
    names: tuple[str, ...] = ()  # of ONNX nodes or layers, if the input's locations carry them
    refusals: Mapping[Action, str] = field(default_factory=dict)
    share: ShareOffer | None = None
    work_bytes: int = 0  # bytes moved by computing the expression once: all operands read plus results written

    @property
    def symbol(self) -> str:
        return self.globals[0].symbol

    @property
    def type(self) -> ValueType:
        return self.globals[0].type

    @property
    def fingerprint(self) -> str:
        """The id without what tells apart candidates of equal expressions, whose results are equal, too."""
        return self.id.partition("-")[0]

    @cached_property
    def result_bytes(self) -> int:
        return sum(g.bytes for g in self.globals)

    @property
    def gives_splat(self) -> bool:
        """Whether all elements of the result are sure to be equal, as those of its sources are."""
        return bool(self.sources) and all(source.splat for source in self.sources) and self.kinds <= _UNIFORM

    @property
    def stored_bytes(self) -> int:
        """Bytes that the result takes in the file if it is evaluated: splats count as nothing."""
        return 0 if self.gives_splat else self.result_bytes

    @property
    def source_bytes(self) -> int:
        """Bytes of the distinct sources, read or not by others; splats count as the element they hold."""
        distinct = {s.key: s for s in self.sources}
        return sum(s.bytes if not s.splat else max(1, s.type.element_bits // 8) for s in distinct.values())

    @property
    def functions(self) -> tuple[str, ...]:
        """Symbols of the functions that read the result, each once, in program order."""
        return tuple(dict.fromkeys(r.symbol for r in self.readers if not r.is_initializer))

    def allows(self, action: Action) -> bool:
        return action not in self.refusals


@dataclass(frozen=True)
class Program:
    """What the policy decides about.

    `candidates` are in module order: one that reads another's global comes after it.
    `constant_bytes` are the bytes of all constants that the program holds before any candidate is evaluated,
    each distinct content once (splats and parameters hold none).
    """

    candidates: tuple[Candidate, ...]
    constant_bytes: int


@dataclass(frozen=True)
class Decision:
    """An action for one candidate, with the reason in words and numbers."""

    candidate_id: str
    action: Action
    reason: str
    decided_by: str  # "rule 'name'", "allow.transpose", "limits.max_growth_bytes", "default", "budgets.file_growth"
    growth_bytes: int  # result minus the sources that die, given all the other decisions, as if evaluated
    wanted: Action | None = None  # what the policy asked for, before it was found impossible
    pinned: bool = False  # a rule decided: budgets leave it alone
    warnings: tuple[str, ...] = ()  # actions that were asked for and impossible, each with its reason


@dataclass(frozen=True)
class Duplicate:
    """A constant that IREE would have stored once for each of its types, and that is stored once."""

    name: str  # as records.Source has it
    types: tuple[str, ...]
    saved_bytes: int


@dataclass(frozen=True)
class Evaluation:
    """What const-eval made of the candidates that were to be evaluated."""

    evaluated: tuple[str, ...] = ()  # candidate ids
    rejected: tuple[str, ...] = ()  # candidate ids: const-eval left their initializers for load time
    failed: tuple[str, ...] = ()  # candidate ids: const-eval failed on them, and they were left for load time
    seconds: float = 0.0
    shared: tuple[str, ...] = ()  # candidate ids: evaluated, and their sources are gone
    not_shared: Mapping[str, str] = field(default_factory=dict)  # candidate ids: why not, and what became of them
    duplicates: tuple[Duplicate, ...] = ()
    unforeseen: tuple[str, ...] = ()  # candidate ids: rejected, and their refusals do not say so


@dataclass(frozen=True)
class StoredPiece:
    """A constant, or the padding behind one, in a segment that IREE packs constants into.

    `resource` is the key of a dense_resource; other constants are known by their content.
    """

    bytes: int
    type: str
    resource: str | None = None
    padding: bool = False


@dataclass(frozen=True)
class ConstantOrigin:
    """Where a stored content comes from: a source by name, or the evaluated result of a candidate by its id."""

    name: str
    location: str | None = None
    candidate_id: str | None = None


@dataclass(frozen=True)
class StoredConstants:
    """How IREE packs the constants of a file, segment by segment, and what is known by key of their contents."""

    segments: tuple[tuple[StoredPiece, ...], ...] = ()
    origins: Mapping[str, ConstantOrigin] = field(default_factory=dict)


@dataclass(frozen=True)
class Box:
    """Elements of a tensor: `sizes` of them in each dimension, from `offsets` on in steps of `strides`."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class StoredResult:
    """One global that const-eval gave a value, and the functions of the check module (rewrite.check_module) for it.

    `owner` is the candidate's id, or "@symbol" where an initializer of the program's own stores the global.
    `computed` returns what the target's own code computes, `stored` what const-eval stored, both as the MLIR type
    `returned`: the global's, or the integer of a scalar float's bits. Where the expression reads another evaluated
    global, `computed` reads it as it was stored, and `recomputed` computes that, too. With an `obstacle`, there are no
    such functions.
    """

    owner: str
    symbol: str
    type: ValueType
    computed: str = ""
    stored: str = ""
    recomputed: str = ""
    returned: str = ""
    obstacle: str | None = None
    location: str | None = None
    written: tuple[Box, ...] | None = None  # where the expression writes elements; None: everywhere


@dataclass(frozen=True)
class CheckModule:
    """What the check module holds. With a `failure`, it could not be made, and there is no file."""

    results: tuple[StoredResult, ...] = ()
    failure: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Byproducts:
    """What is wanted of a compile besides its output file.

    `decisions` are the candidates, what was decided and what became of them; `check_module` is the file to write a
    CheckModule's program to; `stored_constants` asks for StoredConstants.
    """

    decisions: bool = True
    check_module: str | None = None
    stored_constants: bool = False

    @property
    def need_candidates(self) -> bool:
        """Whether somebody has to look for candidates to make them."""
        return self.decisions or self.check_module is not None or self.stored_constants


class ConstPolicyError(Exception):
    """An error that the user can act on: its text names the place and what to do.

    The command line ends with `exit_code`.
    """

    exit_code = 2
