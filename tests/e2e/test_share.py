"""What `share` makes of whole programs: how large they are, that they give the same bits, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from constpolicy.verify.files import verify_files
from constpolicy.verify.input_spec import InputRange, InputSpec
from scripts.models import cases
from tests.share_everything import CPU, ROOT, Offered, compile_shared, compile_upstream

DATA_TILING = "--iree-global-opt-data-tiling"
TABLE_BYTES = cases.VOCAB * cases.HIDDEN * 4
CODE_BYTES = 64 * 1024  # more than the code of any of these programs

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Both:
    """A program compiled by iree-compile and with everything shared."""

    offered: Offered
    upstream: Path
    shared: Path

    @property
    def bytes(self) -> int:
        return self.shared.stat().st_size

    def same_bits(self) -> bool:
        rows = InputRange(low=0, high=3)  # for ids; as good as any for floats
        return verify_files(self.upstream, self.shared, inputs=InputSpec(ranges=(rows,))).passed


Compile = Callable[..., Both]


@pytest.fixture
def compiled(tmp_path: Path) -> Compile:
    def compile(text: str, *flags: str) -> Both:
        source, upstream, shared = (tmp_path / name for name in ("program.mlir", "upstream.vmfb", "shared.vmfb"))
        source.write_text(text)
        compile_upstream(source, upstream, *flags)
        return Both(compile_shared(source, shared, *flags), upstream, shared)

    return compile


def literal(values: Floats) -> str:
    return f'dense<"0x{values.astype(np.float32).tobytes().hex().upper()}">'


def table(rows: int = 64, columns: int = 48) -> Floats:
    return np.random.default_rng(0).uniform(-1, 1, (rows, columns)).astype(np.float32)


def gather(name: str, ids: str, source: str, rows: int = 64, columns: int = 48) -> str:
    """Rows of a table, as `tensor<4xCOLUMNSxf32>`."""
    out = f"tensor<4x{columns}xf32>"
    return f"""
  {name}_init = tensor.empty() : {out}
  {name} = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}} ins({ids} : tensor<4xi32>) outs({name}_init : {out}) {{
  ^bb0(%id: i32, %out: f32):
    %row = arith.index_cast %id : i32 to index
    %column = linalg.index 1 : index
    %element = tensor.extract {source}[%row, %column] : tensor<{rows}x{columns}xf32>
    linalg.yield %element : f32
  }} -> {out}"""


def transposed(name: str, source: str, rows: int = 64, columns: int = 48) -> str:
    return f"""
  {name}_init = tensor.empty() : tensor<{columns}x{rows}xf32>
  {name} = linalg.transpose ins({source} : tensor<{rows}x{columns}xf32>)
    outs({name}_init : tensor<{columns}x{rows}xf32>) permutation = [1, 0]"""


def tied(values: Floats, more: str = "", results: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> str:
    """Rows are gathered from a table, and from its transpose, which therefore has to exist; `more` may read %table."""
    rows, columns = values.shape
    returned = ", ".join(("%rows", "%picked", *results))
    all_types = ", ".join((f"tensor<4x{columns}xf32>", f"tensor<4x{rows}xf32>", *types))
    return f"""func.func @main(%ids: tensor<4xi32>, %x: tensor<{rows}x{columns}xf32>) -> ({all_types}) {{
  %table = arith.constant {literal(values)} : tensor<{rows}x{columns}xf32>
  {gather("%rows", "%ids", "%table", rows, columns)}
  {transposed("%t", "%table", rows, columns)}
  {gather("%picked", "%ids", "%t", columns, rows)}
  {more}
  return {returned} : {all_types}
}}
"""


def test_a_packed_table_is_stored_once(compiled: Compile) -> None:
    both = compiled(cases.tied_plain(), DATA_TILING)
    assert len(both.offered.shared) == 1
    assert both.upstream.stat().st_size > 2 * TABLE_BYTES
    assert both.bytes < TABLE_BYTES + CODE_BYTES
    assert both.same_bits()


@pytest.mark.parametrize("flags", [(), (DATA_TILING,)])
def test_a_table_that_is_part_of_a_larger_constant_is_stored_there(compiled: Compile, flags: tuple[str, ...]) -> None:
    both = compiled(cases.tied_concat(), *flags)
    assert both.bytes < 2 * TABLE_BYTES + CODE_BYTES
    assert both.same_bits()


@pytest.mark.parametrize("flags", [(), (DATA_TILING,)])
def test_a_table_scaled_by_a_power_of_two_is_stored_once(compiled: Compile, flags: tuple[str, ...]) -> None:
    both = compiled(cases.tied_scaled(), *flags)
    assert both.bytes < TABLE_BYTES + CODE_BYTES
    assert both.same_bits()


@pytest.mark.parametrize("number", [1e-38, 3e38, np.inf, np.nan])
def test_a_scale_that_not_every_number_survives_is_refused(compiled: Compile, number: float) -> None:
    values = table(cases.VOCAB, cases.HIDDEN)
    values[7, 7] = number
    text = cases.tied_scaled().replace("1.250000e-01", "4.0" if number > 1 else "1.250000e-01")
    before = cases.f32(cases.VOCAB * cases.HIDDEN, 1)
    assert before in text
    both = compiled(text.replace(before, literal(values)[len("dense<") : -1]))
    (reason,) = both.offered.refusals.values()
    assert "underflow" in reason or "subnormal" in reason


def test_a_scaled_resource_is_checked_too(compiled: Compile) -> None:
    numbers = cases.f32(cases.VOCAB * cases.HIDDEN, 1)
    text = cases.tied_scaled().replace(f"dense<{numbers}>", "dense_resource<table>")
    data = numbers.replace("0x", "0x04000000")
    both = compiled(f"{text}{{-# dialect_resources: {{ builtin: {{ table: {data} }} }} #-}}")
    assert both.bytes < TABLE_BYTES + CODE_BYTES
    assert both.same_bits()


def test_a_cast_that_rounds_is_refused(compiled: Compile) -> None:
    (reason,) = compiled(cases.tied_f16()).offered.refusals.values()
    assert reason == "the cast from f32 to f16 is not exactly invertible: it rounds some of the values"


def test_a_cast_of_numbers_that_all_fit_is_shared(compiled: Compile) -> None:
    values = table(cases.VOCAB, cases.HIDDEN).astype(np.float16).astype(np.float32)
    values[np.abs(values) < 1e-4] = 0.5
    before = cases.f32(cases.VOCAB * cases.HIDDEN, 1)
    both = compiled(cases.tied_f16().replace(before, literal(values)[len("dense<") : -1]))
    assert both.bytes < TABLE_BYTES // 2 + CODE_BYTES
    assert both.same_bits()


def test_of_two_layouts_of_one_table_the_smaller_is_stored_and_the_other_computed_from_it(compiled: Compile) -> None:
    values = table(2049, 48)
    more = f"""
  %zero = arith.constant 0.0 : f32
  %p_init = tensor.empty() : tensor<129x48x16x1xf32>
  %p = linalg.pack %table padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [16, 1] into %p_init
    : tensor<2049x48xf32> -> tensor<129x48x16x1xf32>
  %flat = tensor.collapse_shape %p [[0], [1, 2, 3]] : tensor<129x48x16x1xf32> into tensor<129x768xf32>
  {gather("%other", "%ids", "%flat", 129, 768)}"""
    both = compiled(tied(values, more, ("%other",), ("tensor<4x768xf32>",)))
    assert len(both.offered.offers) == 2
    (home,) = both.offered.shared
    assert "48x2049" in home
    (reason,) = both.offered.not_shared.values()
    assert reason == f"its source is shared through {home}: initialize instead"
    assert both.bytes < values.nbytes + CODE_BYTES
    assert both.same_bits()


def test_a_reader_of_the_whole_table_says_so_in_the_offer(compiled: Compile) -> None:
    more = "%sum = arith.addf %x, %table : tensor<64x48xf32>"
    (offer,) = compiled(tied(table(), more, ("%sum",), ("tensor<64x48xf32>",))).offered.offers.values()
    assert offer["whole_table"] is True
    (offer,) = compiled(tied(table())).offered.offers.values()
    assert offer["whole_table"] is False


def test_an_offer_tells_what_a_gather_pays(compiled: Compile) -> None:
    (offer,) = compiled(tied(table())).offered.offers.values()
    assert offer["saved_bytes"] == 64 * 48 * 4
    assert offer["gathered_rows"] == 4
    assert offer["added_stride_bytes"] == 64 * 4


def test_a_table_that_only_const_exprs_read_is_not_shared(compiled: Compile) -> None:
    text = tied(table()).replace(gather("%rows", "%ids", "%table"), gather("%rows", "%ids", "%x"))
    (reason,) = compiled(text).offered.refusals.values()
    assert reason == "nothing but const-exprs reads its source"


def global_source(declaration: str) -> str:
    """The table is in a global of the user's."""
    text = tied(table())
    constant = f"arith.constant {literal(table())} : tensor<64x48xf32>"
    assert constant in text
    text = text.replace(constant, "util.global.load @user : tensor<64x48xf32>")
    return declaration.replace("VALUE", f"{literal(table())} : tensor<64x48xf32>") + text


def test_a_table_in_a_private_global_is_stored_once(compiled: Compile) -> None:
    both = compiled(global_source("util.global private @user = VALUE\n"))
    assert len(both.offered.shared) == 1
    assert both.same_bits()


def test_a_table_in_a_parameter_archive_is_not_shared(compiled: Compile) -> None:
    parameter = '#flow.parameter.named<"model"::"table"> : tensor<64x48xf32>'
    offered = compiled(global_source(f"util.global private @user = {parameter}\n")).offered
    (reason,) = offered.refusals.values()
    assert "parameter" in reason


def test_a_constant_that_a_folder_gave_a_second_shape_is_stored_once(compiled: Compile) -> None:
    text = f"""func.func @main(%ids: tensor<4xi32>, %x: tensor<64x48xf32>) -> (tensor<4x48xf32>, tensor<64x48xf32>) {{
  %table = arith.constant {literal(table())} : tensor<64x48xf32>
  {gather("%rows", "%ids", "%table")}
  %sum = arith.addf %x, %table : tensor<64x48xf32>
  return %rows, %sum : tensor<4x48xf32>, tensor<64x48xf32>
}}
"""
    both = compiled(text)
    (duplicate,) = both.offered.duplicates
    assert duplicate["saved_bytes"] == 64 * 48 * 4
    assert both.upstream.stat().st_size - both.bytes > 64 * 48 * 4 - 1024
    assert both.same_bits()


def test_sharing_adds_no_dispatch_and_nothing_is_hoisted_again(tmp_path: Path) -> None:
    source, upstream, shared = (tmp_path / name for name in ("program.mlir", "upstream.mlir", "shared.mlir"))
    source.write_text(cases.tied_concat())
    compile_upstream(source, upstream, "--compile-to=flow")
    compile_shared(source, shared, "--compile-to=flow")
    before, after = upstream.read_text(), shared.read_text()
    assert after.count("flow.dispatch @") == before.count("flow.dispatch @")
    assert "util.initializer" not in after
    assert sum("dense" in line for line in after.splitlines()) == 1


def test_an_exported_archive_holds_the_shared_copy_under_its_sources_name(tmp_path: Path) -> None:
    source, archive = tmp_path / "program.mlir", tmp_path / "weights.irpa"
    text = tied(table()).replace(literal(table()), "dense_resource<word.table>")
    data = table().tobytes().hex().upper()
    source.write_text(f'{text}{{-# dialect_resources: {{ builtin: {{ word.table: "0x04000000{data}" }} }} #-}}')
    compile_shared(source, tmp_path / "program.vmfb", f"--iree-parameter-export=model={archive}")
    assert b"__shared_word_table_48x64xf32" in archive.read_bytes()
    assert archive.stat().st_size < 2 * table().nbytes


def test_of_two_tables_in_one_result_only_the_exactly_invertible_one_is_shared(compiled: Compile) -> None:
    half = "tensor<48x64xf32>"
    other = np.random.default_rng(1).uniform(-1, 1, (64, 48)).astype(np.float32)
    other[3, 3] = 1e-38
    more = f"""
  %second = arith.constant {literal(other)} : tensor<64x48xf32>
  {gather("%rows2", "%ids", "%second")}
  %small = arith.constant 0.03125 : f32
  %s_init = tensor.empty() : {half}
  %s = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}} ins(%second : tensor<64x48xf32>) outs(%s_init : {half}) {{
  ^bb0(%in: f32, %out: f32):
    %scaled = arith.mulf %in, %small : f32
    linalg.yield %scaled : f32
  }} -> {half}
  %joined = tensor.concat dim(0) %t, %s : ({half}, {half}) -> tensor<96x64xf32>
  {gather("%both", "%ids", "%joined", 96, 64)}"""
    text = tied(table(), more, ("%rows2", "%both"), ("tensor<4x48xf32>", "tensor<4x64xf32>"))
    no_other_home = "%picked = arith.constant dense<0.0> : tensor<4x64xf32>"
    both = compiled(text.replace(gather("%picked", "%ids", "%t", 48, 64), no_other_home))
    (offer,) = both.offered.offers.values()
    assert offer["saved_bytes"] == table().nbytes
    assert both.same_bits()


def test_one_op_may_read_a_table_under_two_shapes(compiled: Compile) -> None:
    values = table(64, 64)
    more = f"""
  %flat = arith.constant {literal(values)} : tensor<4096xf32>
  %sum_init = tensor.empty() : tensor<64x64xf32>
  %sum = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>,
    affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
    ins(%table, %table, %x : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>)
    outs(%sum_init : tensor<64x64xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %size = arith.constant 64 : index
    %row = arith.muli %j, %size : index
    %at = arith.addi %row, %i : index
    %d = tensor.extract %flat[%at] : tensor<4096xf32>
    %ab = arith.subf %a, %b : f32
    %abc = arith.mulf %ab, %c : f32
    %s = arith.addf %abc, %d : f32
    linalg.yield %s : f32
  }} -> tensor<64x64xf32>"""
    both = compiled(tied(values, more, ("%sum",), ("tensor<64x64xf32>",)))
    assert len(both.offered.shared) == 1
    assert both.same_bits()


def test_what_another_candidate_computes_on_every_call_reads_the_shared_copy_too(tmp_path: Path) -> None:
    values = table(2049, 48)
    more = f"""
  %zero = arith.constant 0.0 : f32
  %p_init = tensor.empty() : tensor<129x48x16x1xf32>
  %p = linalg.pack %table padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [16, 1] into %p_init
    : tensor<2049x48xf32> -> tensor<129x48x16x1xf32>
  %flat = tensor.collapse_shape %p [[0], [1, 2, 3]] : tensor<129x48x16x1xf32> into tensor<129x768xf32>
  {gather("%other", "%ids", "%flat", 129, 768)}"""
    source, upstream, output = (tmp_path / name for name in ("program.mlir", "upstream.vmfb", "output.vmfb"))
    source.write_text(tied(values, more, ("%other",), ("tensor<4x768xf32>",)))
    policy = tmp_path / "policy.yaml"
    policy.write_text("""
schema: 1
name: mixed
rules:
  - {when: {kind: pack}, action: inline}
  - {when: {kind: transpose}, action: share}
""")
    compile_upstream(source, upstream)
    command = [sys.executable, "-m", "constpolicy", "compile", str(source), "-o", str(output), *CPU]
    subprocess.run([*command, "--policy", str(policy), "--policy-strict"], check=True, cwd=ROOT)
    assert output.stat().st_size < values.nbytes + CODE_BYTES
    assert verify_files(upstream, output, inputs=InputSpec(ranges=(InputRange(low=0, high=3),))).passed
