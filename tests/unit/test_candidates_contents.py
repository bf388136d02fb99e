"""What counts as the same constant, and what the file holds for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from iree.compiler import ir

from constpolicy.candidates.contents import Content, Contents
from constpolicy.candidates.index import index
from constpolicy.records import Origin

BYTES = 256 * 1024  # far more than is hashed whole


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with ir.Context(), ir.Location.unknown():
        yield


def contents_of(*constants: str) -> list[Content]:
    """The contents of constants given as attributes with their types."""
    body = "".join(f"%{k} = arith.constant {constant}\n" for k, constant in enumerate(constants))
    module = ir.Module.parse(f"util.func private @f() {{ {body} util.return }}").operation
    indexed = index(module)
    contents = Contents(indexed.globals)
    found = [contents.of(op) for op in indexed.sections[0].constants]
    return [content for content in found if content is not None]


def dense(data: bytes | bytearray, type: str) -> str:
    return f'dense<"0x{data.hex()}"> : tensor<{type}>'


def varied(size: int) -> bytearray:
    return bytearray(k * 7 % 251 for k in range(size))


def test_one_blob_under_two_shapes_has_one_key() -> None:
    data = varied(BYTES)
    first, second = contents_of(dense(data, "256x1024xi8"), dense(data, "256x1x1024xi8"))
    assert first.key == second.key


def test_small_constants_that_differ_anywhere_have_different_keys() -> None:
    data = varied(1024)
    changed = data.copy()
    changed[511] ^= 1
    first, second = contents_of(dense(data, "1024xi8"), dense(changed, "1024xi8"))
    assert first.key != second.key


@pytest.mark.parametrize("position", range(0, BYTES, BYTES // 13))
def test_large_constants_that_differ_in_any_byte_have_different_keys(position: int) -> None:
    data = varied(BYTES)
    changed = data.copy()
    changed[position] ^= 1
    first, second, third = contents_of(
        dense(data, f"{BYTES}xi8"), dense(changed, f"{BYTES}xi8"), dense(data, f"1x{BYTES}xi8")
    )
    assert first.key != second.key
    assert first.key == third.key


def test_the_key_of_a_large_constant_does_not_depend_on_what_else_there_is() -> None:
    data = dense(varied(BYTES), f"{BYTES}xi8")
    (alone,) = contents_of(data)
    _, second, _ = contents_of(dense(varied(BYTES)[::-1], f"{BYTES}xi8"), data, "dense<1> : tensor<4xi8>")
    assert alone.key == second.key


def test_equal_bits_of_different_element_types_are_different_constants() -> None:
    first, second = contents_of("dense<[1.0, 2.0]> : tensor<2xf32>", "dense<[1065353216, 1073741824]> : tensor<2xi32>")
    assert first.key != second.key


@pytest.mark.parametrize(
    ("constant", "size"),
    [
        ("dense<[true, false, true]> : tensor<3xi1>", 3),
        ("dense<[1, 0, -1]> : tensor<3xi2>", 1),
        ("dense<[1, 2, 3]> : tensor<3xi4>", 2),
        ("dense<[1, 2, 3]> : tensor<3xi6>", 3),
        ("dense<[1, 2, 3]> : tensor<3xi8>", 3),
        ("dense<[1.0, 2.0, 3.0]> : tensor<3xf16>", 6),
        ("dense<[1.0, 2.0, 3.0]> : tensor<3xbf16>", 6),
        ("dense<[1.0, 2.0, 3.0]> : tensor<3xf8E4M3FN>", 3),
        ("dense<[1.0, 2.0, 3.0]> : tensor<3xf32>", 12),
        ("dense<[1, 2, 3]> : tensor<3xindex>", 24),
        ("dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>", 16),
        ("dense_resource<some_key> : tensor<3xf32>", 12),
    ],
)
def test_constants_of_every_element_type_are_measured_as_stored(constant: str, size: int) -> None:
    (content,) = contents_of(constant)
    assert (content.bytes, content.stored_bytes, content.splat) == (size, size, False)


@pytest.mark.parametrize("type", ["i1", "i4", "bf16", "f32", "complex<f32>"])
def test_constants_of_every_element_type_are_told_apart(type: str) -> None:
    values = {"i1": ("true", "false"), "complex<f32>": ("(1.0, 2.0)", "(1.0, 3.0)"), "i4": ("1", "2")}
    a, b = values.get(type, ("1.0", "2.0"))
    first, second, third = contents_of(
        f"dense<[{a}, {b}]> : tensor<2x{type}>",
        f"dense<[{b}, {a}]> : tensor<2x{type}>",
        f"dense<[[{a}], [{b}]]> : tensor<2x1x{type}>",
    )
    assert first.key != second.key
    assert first.key == third.key


def test_a_splat_stores_nothing_whatever_its_size() -> None:
    (content,) = contents_of("dense<0.5> : tensor<1000x1000xf32>")
    assert content.splat
    assert (content.bytes, content.stored_bytes) == (4_000_000, 0)


def test_a_resource_goes_by_its_key_under_every_shape() -> None:
    first, second = contents_of(
        'dense_resource<"odd key"> : tensor<4xf32>', 'dense_resource<"odd key"> : tensor<2x2xf32>'
    )
    assert first.key == second.key
    assert (first.name, first.origin) == ("odd key", Origin.RESOURCE)


def test_scalars_have_no_content() -> None:
    assert contents_of("1.0 : f32", "3 : index") == []
