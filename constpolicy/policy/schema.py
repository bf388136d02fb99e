"""The policy file as data, checked strictly: unknown keys and wrong units are errors."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    StrictBool,
    StrictInt,
    WithJsonSchema,
)

from constpolicy.policy import units
from constpolicy.policy.choice import BUILTIN
from constpolicy.policy.flags import checked
from constpolicy.policy.json_schema import OrOne, OrText, text_schema
from constpolicy.policy.units import Amount, Comparison
from constpolicy.records import Action, Kind, Phase


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _version(value: object) -> object:
    if value is True:
        raise ValueError("write 1, the version of this language")
    return value


def _not_negative(amount: Amount) -> Amount:
    if amount.is_negative:
        raise ValueError(f"{amount.as_data()} is less than nothing")
    return amount


def _ordered(bounds: list[float]) -> list[float]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"[{bounds[0]:g}, {bounds[1]:g}] holds nothing: write the lower bound first")
    return bounds


def _one_line(text: str) -> str:
    if "\n" in text or "\t" in text:
        raise ValueError("a name is one line of text")
    return text


def _lifted(value: object) -> object:
    return None if value == "none" else value


def _without_at(names: list[str]) -> list[str]:
    return [name.removeprefix("@") for name in names]


T = TypeVar("T")
Liftable = Annotated[T | None, BeforeValidator(_lifted), OrText("none")]
_READ_NUMBER, _OR_NUMBER = BeforeValidator(units.parse_number), OrText(units.NUMBER)
_READ_SIZE, _OR_SIZE = BeforeValidator(units.parse_size), OrText(units.SIZE)
Number = Annotated[float, _READ_NUMBER, _OR_NUMBER]
NotNegative = Annotated[float, Field(ge=0), _READ_NUMBER, _OR_NUMBER]
Seconds = Annotated[float, Field(ge=0, le=10**6), _READ_NUMBER, _OR_NUMBER]
Quantile = Annotated[float, Field(gt=0, le=1), _READ_NUMBER, _OR_NUMBER]
Cosine = Annotated[float, Field(ge=-1, le=1), _READ_NUMBER, _OR_NUMBER]
Growth = Annotated[int, _READ_SIZE, _OR_SIZE]
Size = Annotated[int, Field(ge=0), _READ_SIZE, _OR_SIZE]
Name = Annotated[str, Field(min_length=1), AfterValidator(_one_line)]
RelativeSize = Annotated[
    Amount,
    BeforeValidator(Amount.parse),
    PlainSerializer(Amount.as_data),
    WithJsonSchema({"anyOf": [{"type": "integer"}, text_schema(f"{units.SIZE}|{units.PERCENTAGE}")]}),
]
RelativeTotal = Annotated[RelativeSize, AfterValidator(_not_negative)]
SizeComparison = Annotated[
    Comparison,
    BeforeValidator(Comparison.of_sizes),
    PlainSerializer(str),
    WithJsonSchema({"anyOf": [{"type": "integer"}, text_schema(units.SIZE_COMPARISON)]}),
]
NumberComparison = Annotated[
    Comparison,
    BeforeValidator(Comparison.of_numbers),
    PlainSerializer(str),
    WithJsonSchema({"anyOf": [{"type": "number"}, text_schema(units.NUMBER_COMPARISON)]}),
]
Kinds = Annotated[list[Kind], BeforeValidator(_as_list), Field(min_length=1), OrOne()]
Names = Annotated[list[str], BeforeValidator(_as_list), Field(min_length=1), OrOne()]
Symbols = Annotated[Names, AfterValidator(_without_at)]
Actions = Annotated[list[Action], BeforeValidator(_as_list), Field(min_length=1), OrOne()]
Range = Annotated[list[Number], Field(min_length=2, max_length=2), AfterValidator(_ordered)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class When(_Section):
    """What a rule matches: every key that is given must hold. Lists mean "one of"; names and types are globs."""

    kind: Kinds | None = None
    contains: Kinds | None = None
    result_bytes: SizeComparison | None = None
    source_bytes: SizeComparison | None = None
    growth: SizeComparison | None = None
    ratio: NumberComparison | None = None
    element_type: Names | None = None
    source_element_type: Names | None = None
    widening: StrictBool | None = None
    rank: NumberComparison | None = None
    type: Names | None = None
    source: Names | None = None
    location: Names | None = None
    function: Symbols | None = None
    shared: StrictBool | None = None
    splat: StrictBool | None = None
    evaluable: StrictBool | None = None
    affinity: Names | None = None
    phase: Phase | None = None
    id: Names | None = None
    any: list[When] | None = Field(default=None, min_length=1)
    all: list[When] | None = Field(default=None, min_length=1)
    not_: When | None = Field(default=None, alias="not")

    @property
    def matches_everything(self) -> bool:
        """Whether it says nothing that a candidate could miss."""
        said = {name for name in type(self).model_fields if getattr(self, name) is not None}
        anything = self.any is None or any(part.matches_everything for part in self.any)
        return said <= {"any", "all"} and anything and all(part.matches_everything for part in self.all or ())

    def mentions(self, phase: Phase) -> bool:
        """Whether the phase is asked for here, or in what this combines; not to be another asks for it, too."""
        parts = [*(self.any or []), *(self.all or [])]
        others = [self.not_.mentions(other) for other in Phase if other is not phase] if self.not_ else []
        return self.phase is phase or any(part.mentions(phase) for part in parts) or any(others)


class Rule(_Section):
    """The action for the candidates that match; the first rule that matches a candidate decides it."""

    name: Name | None = None
    when: When
    action: Action
    _place: str | None = PrivateAttr(default=None)

    @property
    def place(self) -> str | None:
        """Where it was written, as file:line:column; None for a rule that was made in code. No part of its value."""
        return self._place

    @property
    def file(self) -> str | None:
        """The file it is written in; None for a rule that was made in code."""
        return None if self._place is None else self._place.rsplit(":", 2)[0]

    @property
    def is_builtin(self) -> bool:
        """Whether it stands in a built-in policy, which is for all models: not each has something that it matches."""
        return (self.file or "").startswith(BUILTIN)

    def at(self, place: str) -> Rule:
        """The same rule, written at that place."""
        rule = self.model_copy()
        rule._place = place
        return rule

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and dict(self) == dict(other)


class Limits(_Section):
    """What a single result may cost; an evaluated candidate over a limit moves on to `otherwise`.

    `none` lifts a limit of the policy that is extended.
    """

    max_expansion_ratio: Liftable[NotNegative] = None
    max_result_bytes: Liftable[Size] = None
    max_growth_bytes: Liftable[Growth] = None
    otherwise: Actions | None = None


class Budgets(_Section):
    """Totals for the whole program, in bytes or per cent of its constants.

    A growth of less than nothing asks for a file that is so much smaller. `none` lifts a budget of the policy that is
    extended.
    """

    file_growth: Liftable[RelativeSize] = None
    resident_growth: Liftable[RelativeSize] = None
    load_bytes: Liftable[RelativeTotal] = None
    evaluate_bytes: Liftable[RelativeTotal] = None
    evaluate_seconds: Liftable[Seconds] = None
    otherwise: Actions | None = None

    def totals(self, constant_bytes: int) -> dict[str, int]:
        """The budgets that are set, by name, for a program with so many bytes of constants: bytes or microseconds."""
        amounts = {name: getattr(self, name) for name in type(self).model_fields}
        totals = {name: value.of(constant_bytes) for name, value in amounts.items() if isinstance(value, Amount)}
        if self.evaluate_seconds is not None:
            totals["evaluate_seconds"] = round(self.evaluate_seconds * 1e6)
        return totals


class Share(_Section):
    """What sharing may cost the readers, and whether equal constants are stored once where no candidate is involved.

    From a shared copy, reading a whole table takes 1.2 to 3 times as long. A gathered row takes about a microsecond
    longer, so that beyond some 25,000 rows per call it would be faster to make the copy afresh.
    """

    whole_table: StrictBool = False
    max_gathered_rows: StrictInt = Field(default=25_000, ge=0)
    store_once: StrictBool = False


class VerifyBounds(_Section):
    """How far an output may be from the reference's. All bounds that are given have to hold."""

    rtol: NotNegative = 0.0
    atol: NotNegative = 0.0
    statistic: Literal["elementwise", "max", "mean", "median", "quantile"] = "elementwise"
    quantile: Quantile = 0.99
    ulp: StrictInt | None = Field(default=None, ge=0)
    top_k: StrictInt | None = Field(default=None, ge=1)
    cosine: Cosine | None = None


class VerifyInputs(_Section):
    """The inputs to verify with, where the command line says nothing else: ranges and shapes by input name."""

    seed: StrictInt = Field(default=0, ge=0)
    iterations: StrictInt = Field(default=1, ge=1, le=10_000)
    sets: Annotated[list[Literal["seeded", "zeros", "ones", "extremes", "nan", "inf"]], Field(min_length=1)] = [
        "seeded"
    ]
    ranges: dict[str, Range] = {}
    shapes: dict[str, list[Annotated[StrictInt, Field(ge=0)]]] = {}


class Verify(VerifyBounds):
    """How far results may be apart where the decisions leave room for other roundings, and what to try.

    `outputs` has the bounds of single outputs, by name: they take the place of the general ones.
    """

    outputs: dict[str, VerifyBounds] = {}
    inputs: VerifyInputs = VerifyInputs()


class Policy(_Section):
    """A policy, or one file of it: `extends` names what it builds on."""

    schema_version: Annotated[Literal[1], BeforeValidator(_version)] = Field(alias="schema")
    name: Name
    description: str = ""
    extends: str | None = None
    default: Action = Action.EVALUATE
    rules: list[Rule] = []
    allow: dict[Kind, StrictBool] = {}
    limits: Limits = Limits()
    budgets: Budgets = Budgets()
    otherwise: Actions = [Action.INITIALIZE]
    share: Share = Share()
    verify: Verify = Verify()
    flags: list[Annotated[str, AfterValidator(checked)]] = []

    @property
    def looks_at_dispatch_creation(self) -> bool:
        """Whether some rule is about what DispatchCreation hoists, which takes a second stop of the compile."""
        return any(rule.when.mentions(Phase.DISPATCH_CREATION) for rule in self.rules)

    def as_data(self) -> dict[str, Any]:
        """What was written, as plain data that a YAML file can hold, and that gives an equal policy again."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
