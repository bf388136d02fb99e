"""The policy file as data, checked strictly: unknown keys and wrong units are errors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, PrivateAttr

from constpolicy.policy.units import Amount, Comparison, parse_size
from constpolicy.records import Action, Kind, Phase


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"{value!r} is no number")
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"'{str(value)[:40]}' is no number") from None


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


_TEXT = PlainSerializer(str, return_type=str)
Size = Annotated[int, BeforeValidator(parse_size)]
RelativeSize = Annotated[Amount, BeforeValidator(Amount.parse), _TEXT]
SizeComparison = Annotated[Comparison, BeforeValidator(lambda v: Comparison.parse(v, parse_size)), _TEXT]
NumberComparison = Annotated[Comparison, BeforeValidator(lambda v: Comparison.parse(v, _number)), _TEXT]
Kinds = Annotated[list[Kind], BeforeValidator(_as_list), Field(min_length=1)]
Names = Annotated[list[str], BeforeValidator(_as_list), Field(min_length=1)]
Actions = Annotated[list[Action], BeforeValidator(_as_list), Field(min_length=1)]


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
    widening: bool | None = None
    rank: NumberComparison | None = None
    type: Names | None = None
    source: Names | None = None
    location: Names | None = None
    function: Names | None = None
    shared: bool | None = None
    splat: bool | None = None
    evaluable: bool | None = None
    affinity: Names | None = None
    phase: Phase | None = None
    id: Names | None = None
    any: list[When] | None = None
    all: list[When] | None = None
    not_: When | None = Field(default=None, alias="not")

    def mentions(self, phase: Phase) -> bool:
        """Whether the phase is asked for here, or in what this combines."""
        parts = [*(self.any or []), *(self.all or []), *([self.not_] if self.not_ else [])]
        return self.phase is phase or any(part.mentions(phase) for part in parts)


class Rule(_Section):
    """The action for the candidates that match; the first rule that matches a candidate decides it."""

    name: str | None = None
    when: When
    action: Action
    _place: str | None = PrivateAttr(default=None)

    @property
    def place(self) -> str | None:
        """Where it was written, as file:line:column; None for a rule that was made in code. No part of its value."""
        return self._place

    def at(self, place: str) -> Rule:
        """The same rule, written at that place."""
        rule = self.model_copy()
        rule._place = place
        return rule

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and dict(self) == dict(other)


class Limits(_Section):
    """What a single result may cost; an evaluated candidate over a limit moves on to `otherwise`."""

    max_expansion_ratio: float | None = Field(default=None, ge=0)
    max_result_bytes: Size | None = None
    max_growth_bytes: Size | None = None
    otherwise: Actions | None = None


class Budgets(_Section):
    """Totals for the whole program, in bytes or per cent of its constants."""

    file_growth: RelativeSize | None = None
    resident_growth: RelativeSize | None = None
    load_bytes: RelativeSize | None = None
    evaluate_bytes: RelativeSize | None = None
    evaluate_seconds: float | None = Field(default=None, ge=0, le=10**6)
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

    whole_table: bool = False
    max_gathered_rows: int = Field(default=25_000, ge=0)
    store_once: bool = False


class VerifyBounds(_Section):
    """How far an output may be from the reference's. All bounds that are given have to hold."""

    rtol: float = Field(default=0.0, ge=0)
    atol: float = Field(default=0.0, ge=0)
    statistic: Literal["elementwise", "max", "mean", "median", "quantile"] = "elementwise"
    quantile: float = Field(default=0.99, gt=0, le=1)
    ulp: int | None = Field(default=None, ge=0)
    top_k: int | None = Field(default=None, ge=1)
    cosine: float | None = Field(default=None, ge=-1, le=1)


class VerifyInputs(_Section):
    """The inputs to verify with, where the command line says nothing else: ranges and shapes by input name."""

    seed: int = Field(default=0, ge=0)
    iterations: int = Field(default=1, ge=1, le=10_000)
    sets: Annotated[list[Literal["seeded", "zeros", "ones", "extremes", "nan", "inf"]], Field(min_length=1)] = [
        "seeded"
    ]
    ranges: dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]] = {}
    shapes: dict[str, list[Annotated[int, Field(ge=0)]]] = {}


class Verify(VerifyBounds):
    """How far results may be apart where the decisions leave room for other roundings, and what to try.

    `outputs` has the bounds of single outputs, by name: they take the place of the general ones.
    """

    outputs: dict[str, VerifyBounds] = {}
    inputs: VerifyInputs = VerifyInputs()


class Policy(_Section):
    """A policy, or one file of it: `extends` names what it builds on."""

    schema_version: Literal[1] = Field(alias="schema")
    name: str = Field(min_length=1)
    description: str = ""
    extends: str | None = None
    default: Action = Action.EVALUATE
    rules: list[Rule] = []
    allow: dict[Kind, bool] = {}
    limits: Limits = Limits()
    budgets: Budgets = Budgets()
    otherwise: Actions = [Action.INITIALIZE]
    share: Share = Share()
    verify: Verify = Verify()
    flags: list[str] = []

    @property
    def looks_at_dispatch_creation(self) -> bool:
        """Whether some rule is about what DispatchCreation hoists, which takes a second stop of the compile."""
        return any(rule.when.mentions(Phase.DISPATCH_CREATION) for rule in self.rules)

    def as_data(self) -> dict[str, Any]:
        """What was written, as plain data that a YAML file can hold."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)
