"""The inputs of every call, made from the function's signature, a seed and what the user says about them."""

from __future__ import annotations

import runpy
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from constpolicy.records import ConstPolicyError
from constpolicy.verify import input_values
from constpolicy.verify.element_types import ElementType, Family
from constpolicy.verify.input_spec import InputRange, InputSet, InputSpec, applies
from constpolicy.verify.input_values import Array, fits
from constpolicy.verify.signature import Signature, Value

_FLOATS = (-1.0, 1.0)
_INTEGERS = (0, 1)  # indices, lengths and masks of almost any model can take these
_SOME = 16  # one element in this many is NaN or infinite in the sets of those names, and at least one


@dataclass(frozen=True)
class CallInputs:
    """One call to make. `label` says which: "seeded inputs, iteration 2"."""

    function: str
    label: str
    arrays: tuple[Array, ...]  # one for each of the signature's inputs; 0-d for scalars


def selected(spec: InputSpec, signatures: Mapping[str, Signature]) -> tuple[Signature, ...]:
    """The functions to call: those named by the user, or all. Checks that every name given means something."""
    for name in spec.functions:
        if name not in signatures:
            raise ConstPolicyError(f"the module exports no function '{name}'; it exports {', '.join(signatures)}")
    chosen = tuple(signatures[name] for name in spec.functions) or tuple(signatures.values())
    if spec.values and len(chosen) > 1:
        names = ", ".join(signature.name for signature in chosen)
        raise ConstPolicyError(f"inputs are given, and the module exports several functions ({names}): name one")
    known = [(signature.name, value.name) for signature in chosen for value in signature.inputs]
    for wanted in [given.name for given in spec.ranges] + [given.name for given in spec.shapes]:
        if wanted is not None and not any(applies(wanted, function, value) for function, value in known):
            names = ", ".join(f"{function}.{value}" for function, value in known)
            raise ConstPolicyError(f"there is no input '{wanted}'; the inputs are {names or 'none'}")
    return chosen


def calls(spec: InputSpec, functions: Sequence[Signature]) -> Iterator[CallInputs]:
    """All calls in the order in which to make them: every function once per round, so that state moves on."""
    if spec.script is not None:
        yield from _scripted(spec.script, functions)
        return
    for chosen in spec.sets:
        for iteration in range(spec.iterations if chosen is InputSet.SEEDED else 1):
            label = f"{chosen} inputs" + (f", iteration {iteration + 1}" if spec.iterations > 1 else "")
            for signature in functions:
                if chosen is InputSet.SEEDED or _can_take(chosen, signature, spec):
                    yield CallInputs(signature.name, label, _arrays(spec, signature, chosen, iteration))


def _can_take(chosen: InputSet, signature: Signature, spec: InputSpec) -> bool:
    """Whether the set would differ from the seeded one."""
    if spec.values:
        return False
    return any(chosen not in (InputSet.NAN, InputSet.INF) or _special(value.element) for value in signature.inputs)


def _special(element: ElementType) -> bool:
    return element.family in (Family.FLOAT, Family.COMPLEX)


def _arrays(spec: InputSpec, signature: Signature, chosen: InputSet, iteration: int) -> tuple[Array, ...]:
    if spec.values:
        return input_values.read(spec.values, signature.inputs, "input")
    arrays = []
    for position, value in enumerate(signature.inputs):
        # A sequence of its own for each input: adding one elsewhere changes nothing here.
        random = np.random.default_rng([spec.seed, zlib.crc32(signature.name.encode()), position, iteration])
        shape = _shape(spec, signature, value)
        bounds = next((given for given in spec.ranges if applies(given.name, signature.name, value.name)), None)
        arrays.append(_make(random, value.element, shape, chosen, bounds))
    return tuple(arrays)


def _shape(spec: InputSpec, signature: Signature, value: Value) -> tuple[int, ...]:
    wanted = () if value.shape is None else value.shape
    if not value.is_dynamic:
        return tuple(size for size in wanted if size is not None)
    for given in spec.shapes:
        if not applies(given.name, signature.name, value.name):
            continue
        if fits(given.shape, wanted):
            return given.shape
        if given.name is not None:  # one without a name is for those inputs that it fits
            raise ConstPolicyError(f"input {given.name} is {value.text}, which shape {list(given.shape)} does not fit")
    unknown = ", ".join(f"{v.name}: {v.text}" for v in signature.inputs if v.is_dynamic)
    example = "x".join("8" if size is None else str(size) for size in wanted)
    raise ConstPolicyError(
        f"@{signature.name} has inputs of unknown shape ({unknown}): "
        f"give the shape of each, as in {value.name}:{example}"
    )


def _make(
    random: np.random.Generator,
    element: ElementType,
    shape: tuple[int, ...],
    chosen: InputSet,
    bounds: InputRange | None,
) -> Array:
    if chosen in (InputSet.ZEROS, InputSet.ONES):
        return np.full(shape, _nearest(int(chosen is InputSet.ONES), element, bounds), element.dtype)
    if chosen is InputSet.EXTREMES:
        return random.choice(_extremes(element, bounds), shape).astype(element.dtype)
    array = _seeded(random, element, shape, bounds)
    if chosen in (InputSet.NAN, InputSet.INF) and _special(element) and array.size:
        places = random.choice(array.size, max(1, array.size // _SOME), replace=False)
        with np.errstate(invalid="ignore"):  # a type without infinities makes them NaN
            specials = [np.nan] if chosen is InputSet.NAN else [np.inf, -np.inf]
            array.reshape(-1)[places] = random.choice(specials, len(places)).astype(element.dtype)
    return array


def _nearest(value: int, element: ElementType, bounds: InputRange | None) -> int:
    """The value, or the nearest that an integer input can take: an index out of bounds shows nothing."""
    if element.family is not Family.INTEGER or bounds is None:
        return value
    least, most = _integer_bounds(element, bounds)
    return min(max(value, least), most)


def _seeded(
    random: np.random.Generator, element: ElementType, shape: tuple[int, ...], bounds: InputRange | None
) -> Array:
    if element.family is Family.BOOLEAN:
        return random.integers(0, 1, shape, endpoint=True).astype(np.bool_)
    if element.family is Family.INTEGER:
        least, most = _integer_bounds(element, bounds)
        return random.integers(least, most, shape, element.dtype, endpoint=True)
    low, high = (bounds.low, bounds.high) if bounds else _FLOATS
    values = random.uniform(low, high, shape)
    if element.family is Family.COMPLEX:
        values = values + 1j * random.uniform(low, high, shape)
    if element.name == "f8E8M0FNU":  # powers of two: there is no sign and no zero
        values = np.exp2(np.round(4 * np.asarray(values))) if bounds is None else np.abs(values)
    return np.asarray(values).astype(element.dtype)


def _integer_bounds(element: ElementType, bounds: InputRange | None) -> tuple[int, int]:
    least, most = element.integers
    if bounds is not None:
        return max(least, int(np.ceil(bounds.low))), min(most, int(np.floor(bounds.high)))
    # Eight bits and fewer are quantized data and take every value; wider integers count or index something.
    return (least, most) if element.dtype.itemsize == 1 else _INTEGERS


def _extremes(element: ElementType, bounds: InputRange | None) -> np.ndarray[Any, np.dtype[Any]]:
    if element.family is Family.BOOLEAN:
        return np.array([False, True])
    if element.family is Family.INTEGER:
        return np.array(_integer_bounds(element, bounds), element.dtype)
    if bounds is not None:
        return np.array([bounds.low, bounds.high], np.float64).astype(element.dtype)
    limits = element.limits
    values = [limits.largest, limits.smallest_normal, 1.0]
    if element.name != "f8E8M0FNU":  # which has no sign, no zero and no denormals
        values += [-limits.largest, limits.smallest, -limits.smallest, -0.0, 0.0, -1.0]
    return np.array(values).astype(element.dtype)


def _scripted(script: Path, functions: Sequence[Signature]) -> Iterator[CallInputs]:
    """What the user's script yields for each function, in turns until all have ended."""
    try:
        make = runpy.run_path(str(script)).get("inputs")
    except OSError as error:
        raise ConstPolicyError(f"input script {script}: {error.strerror or error}") from error
    if not callable(make):
        raise ConstPolicyError(f"input script {script} defines no function inputs(function)")
    running = {signature: iter(make(signature.name)) for signature in functions}
    iteration = 0
    while running:
        iteration += 1
        for signature, given in list(running.items()):
            arrays = next(given, None)
            if arrays is None:
                del running[signature]
                continue
            label = f"inputs of {script.name}, iteration {iteration}"
            yield CallInputs(signature.name, label, input_values.match(arrays, signature.inputs, "input"))
