"""Arrays given by the user: files, and iree-run-module's syntax for `--input` and `--expected_output`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from constpolicy.records import ConstPolicyError
from constpolicy.verify.element_types import ElementType, Family, element_type
from constpolicy.verify.packing import unpacked
from constpolicy.verify.signature import Value

Array = npt.NDArray[Any]

_BUFFER = re.compile(r"(?P<shape>(?:\d+x)*)(?P<type>[a-z]\w*(?:<\w+>)?)(?:=(?P<values>.*))?", re.DOTALL)
_BOOLEANS = {"true": 1, "false": 0}


def read(texts: Sequence[str], values: Sequence[Value], what: str) -> tuple[Array, ...]:
    """The arrays that the texts describe, one for each value.

    Args:
      texts: Values in iree-run-module's syntax; one `@file` may hold several.
      values: The function's inputs or outputs that they are meant for.
      what: What to call them in errors: "input" or "expected output".
    """
    arrays: list[Array] = []
    for text in texts:
        arrays += _read_one(text, values[len(arrays) :], what)
    return match(arrays, values, what)


def match(
    given: Sequence[npt.ArrayLike] | Mapping[str, npt.ArrayLike], values: Sequence[Value], what: str
) -> tuple[Array, ...]:
    """The given arrays, checked against the values and in their order."""
    if isinstance(given, Mapping):
        _check_names(given, values, what)
        given = [given[value.name] for value in values]
    if len(given) != len(values):
        names = ", ".join(f"{value.name}: {value.text}" for value in values)
        raise ConstPolicyError(f"{len(given)} {what}s are given and {len(values)} needed ({names})")
    return tuple(_fit(np.asarray(array), value, what) for array, value in zip(given, values, strict=True))


def fits(shape: Sequence[int], wanted: Sequence[int | None]) -> bool:
    """Whether the shape has the wanted rank and sizes; None stands for any size."""
    return len(shape) == len(wanted) and all(w in (None, size) for w, size in zip(wanted, shape, strict=True))


def _check_names(given: Mapping[str, npt.ArrayLike], values: Sequence[Value], what: str) -> None:
    names = [value.name for value in values]
    missing = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if missing or unknown:
        wrong = f"no {what} '{missing[0]}' is given" if missing else f"there is no {what} '{unknown[0]}'"
        raise ConstPolicyError(f"{wrong}; the names are {', '.join(names)}")


def _fit(array: Array, value: Value, what: str) -> Array:
    """The array with the value's dtype, if that keeps every bit."""
    wanted = value.element.dtype
    if array.dtype != wanted:
        same_bits = array.dtype.itemsize == wanted.itemsize and {array.dtype.kind, wanted.kind} <= {*"iubV"}
        if value.shape is None and array.dtype.kind in "iufb":
            array = array.astype(wanted)
        elif not same_bits:
            raise ConstPolicyError(f"{what} {value.name} is {value.text}, not an array of {array.dtype}")
        elif wanted.kind == "b":
            array = array.astype(wanted)
        else:
            array = np.ascontiguousarray(array).view(wanted)
    shape = () if value.shape is None else value.shape
    if not fits(array.shape, shape):
        raise ConstPolicyError(f"{what} {value.name} is {value.text}, not of shape {list(array.shape)}")
    return array


def _read_one(text: str, remaining: Sequence[Value], what: str) -> list[Array]:
    if text.startswith("@"):
        return _read_file(Path(text[1:]), remaining, what)
    buffer = _BUFFER.fullmatch(text.strip())
    if buffer is None:
        return [_scalar(text, what)]
    type_ = element_type(buffer["type"])
    shape = tuple(int(dimension) for dimension in buffer["shape"].split("x")[:-1])
    return [_buffer(type_, shape, buffer["values"], f"{what} '{_shortened(text)}'")]


def _scalar(text: str, what: str) -> Array:
    try:
        return np.asarray(int(text, 0))
    except ValueError:
        pass
    try:
        return np.asarray(float(text))
    except ValueError:
        raise ConstPolicyError(
            f"{what} '{_shortened(text)}': write a number, 2x3xf32=1 2 3 4 5 6, 4xi32=@file.bin or @file.npy"
        ) from None


def _buffer(type_: ElementType, shape: tuple[int, ...], values: str | None, place: str) -> Array:
    count = int(np.prod(shape, dtype=np.int64))
    if not values:
        return np.zeros(shape, type_.dtype)
    if values.startswith("@"):
        data = _bytes(Path(values[1:]), place)
        needed = (count * (type_.bits or type_.dtype.itemsize * 8) + 7) // 8
        if len(data) != needed:
            raise ConstPolicyError(f"{place}: the file holds {len(data)} bytes, the shape needs {needed}")
        if type_.bits is not None:
            return unpacked(np.frombuffer(data, np.uint8), type_)[:count].reshape(shape)
        return np.frombuffer(data, type_.dtype).reshape(shape)
    words = re.sub(r"[\[\],]", " ", values).split()
    if type_.family is Family.COMPLEX:
        raise ConstPolicyError(f"{place}: complex values cannot be written out; give them as @file.npy")
    if len(words) not in (1, count):
        raise ConstPolicyError(f"{place}: {len(words)} values are given, the shape needs {count} (or one for all)")
    try:
        elements = [_element(word, type_) for word in words]
        array = np.array(elements, np.float64 if type_.family is Family.FLOAT else None).astype(type_.dtype)
    except (ValueError, OverflowError):
        raise ConstPolicyError(f"{place}: not all values are of type {type_.name}") from None
    return np.full(shape, array[0], type_.dtype) if len(words) == 1 else array.reshape(shape)


def _element(word: str, type_: ElementType) -> float | int:
    if type_.family is Family.FLOAT:
        return float(word)
    value = _BOOLEANS.get(word.lower())
    if value is None:
        value = int(word, 0)
    least, most = type_.integers if type_.family is Family.INTEGER else (value, value)
    if not least <= value <= most:
        raise ValueError(word)
    return value


def _read_file(path: Path, remaining: Sequence[Value], what: str) -> list[Array]:
    place = f"{what} '@{path}'"
    try:
        if path.suffix == ".npz":
            with np.load(path) as archive:
                arrays = {name: archive[name] for name in archive.files}
            by_name = set(arrays) >= {value.name for value in remaining}
            return [arrays[value.name] for value in remaining] if by_name else list(arrays.values())
        if path.suffix == ".npy":
            return list(_arrays(path))
    except OSError as error:
        raise ConstPolicyError(f"{place}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConstPolicyError(f"{place}: {error}") from error
    raise ConstPolicyError(f"{place}: a .npy or .npz file, or a raw one after its type, as in 2x3xf32=@{path}")


def _arrays(path: Path) -> Iterator[Array]:
    """The arrays in a file to which numpy.save was applied once or several times."""
    size = path.stat().st_size
    with path.open("rb") as file:
        while file.tell() < size:
            yield np.load(file)


def _bytes(path: Path, place: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConstPolicyError(f"{place}: {error.strerror or error}") from error


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
