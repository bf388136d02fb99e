"""The ranges of integer inputs that the user says nothing about: what the program shows, or a guess that is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from constpolicy.verify.element_types import Family
from constpolicy.verify.input_spec import InputRange, InputSpec, applies
from constpolicy.verify.signature import Signature, Value

IndexBounds = Mapping[str, Mapping[int, int]]
"""For each function, the positions of index inputs with the largest index."""


def with_index_ranges(
    spec: InputSpec, functions: Sequence[Signature], bounds: IndexBounds
) -> tuple[InputSpec, tuple[str, ...]]:
    """The spec with ranges for the inputs that are indices, so that it alone makes the inputs again.

    The second result says in words what the integer inputs were given.
    """
    ranges, notes = list(spec.ranges), []
    for signature, position, value in _open(spec, functions):
        most = bounds.get(signature.name, {}).get(position)
        if most is None:
            notes.append(f"{value.name} ({value.text}) is given 0 and 1 only: --range {value.name}:LO,HI reaches more")
        else:
            ranges.append(InputRange(name=f"{signature.name}.{value.name}", low=0, high=most))
            notes.append(f"{value.name} ({value.text}) is an index: it is given 0 to {most}, as the program allows")
    return spec.model_copy(update={"ranges": tuple(ranges)}), tuple(dict.fromkeys(notes))


def _open(spec: InputSpec, functions: Sequence[Signature]) -> list[tuple[Signature, int, Value]]:
    """The integer inputs wider than quantized data that have no range, with their positions."""
    if spec.values or spec.script is not None:
        return []
    return [
        (signature, position, value)
        for signature in functions
        if signature.unsupported is None
        for position, value in enumerate(signature.arguments)
        if not value.is_storage and value.element.family is Family.INTEGER and value.element.dtype.itemsize > 1
        if not any(applies(given.name, signature.name, value.name) for given in spec.ranges)
    ]
