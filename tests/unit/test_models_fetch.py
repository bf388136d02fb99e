"""Fetching models: what the cache does, and what a failure of pip means."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from scripts.models import fetch
from scripts.models.registry import MODELS, Input, Wheel

NO_VERSION = "ERROR: No matching distribution found for nudenet==3.4.2"


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError(...)': /simple/nudenet/",
        "WARNING: Retrying after connection broken by 'ReadTimeoutError(\"Read timed out. (read timeout=15)\")'",
        "<urlopen error [Errno -3] Temporary failure in name resolution>",
        "OSError: [Errno 101] Network is unreachable",
        "('Cannot connect to proxy.', ProxyError(...))",
    ],
)
def test_a_failed_connection_counts_although_pip_then_says_that_no_version_matches(line: str) -> None:
    error = fetch.failure("nudenet==3.4.2", f"{line}\n{NO_VERSION}\n")
    assert isinstance(error, fetch.UnreachableError)
    assert line in str(error)


@pytest.mark.parametrize("output", [NO_VERSION, "ERROR: HTTP error 403 while getting the file", ""])
def test_any_other_failure_of_pip_is_no_reason_to_skip(output: str) -> None:
    error = fetch.failure("nudenet==3.4.2", output)
    assert not isinstance(error, fetch.UnreachableError)
    assert "nudenet==3.4.2" in str(error)


def test_the_cache_is_the_folder_that_the_variable_names_and_git_ignores_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    monkeypatch.setenv(fetch.CACHE_VARIABLE, str(tmp_path / "models"))
    assert fetch.cache_folder() == tmp_path / "models"
    status = subprocess.run(
        ["git", "-C", tmp_path, "status", "--porcelain"], capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


def test_an_unknown_model_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"no such model: bort; there are bert_base, .*minilm"):
        fetch.get("bort")


def test_every_package_is_pinned_to_one_version() -> None:
    requirements = [m.source.requirement for m in MODELS.values() if isinstance(m.source, Wheel)]
    assert requirements
    assert all(requirement.count("==") == 1 for requirement in requirements)


def _dynamic_model(path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, "height"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["b", "h", 3])
    graph = helper.make_graph([helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 1])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))


def _sizes(value: onnx.ValueInfoProto) -> list[int]:
    return [dim.dim_value for dim in value.type.tensor_type.shape.dim]


def test_fixing_the_inputs_shapes_fixes_the_outputs_too(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    _dynamic_model(path)
    fetch.fix_shapes(path, (Input("x", (1, 3, 48), "float32", 0, 1),))
    graph = onnx.load(str(path)).graph
    assert _sizes(graph.input[0]) == [1, 3, 48]
    assert _sizes(graph.output[0]) == [1, 48, 3]


def test_a_model_whose_inputs_are_not_those_of_the_registry_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    _dynamic_model(path)
    with pytest.raises(fetch.FetchError, match=r"model\.onnx takes x, not image"):
        fetch.fix_shapes(path, (Input("image", (1, 3, 48), "float32", 0, 1),))


def test_calibration_samples_are_seeded_and_within_the_models_range() -> None:
    from scripts.models.quantize import RandomCalibration

    given = (Input("x", (1, 3, 4), "float32", 2, 5),)
    first, second = RandomCalibration(given), RandomCalibration(given)
    count = 0
    while (sample := first.get_next()) is not None:
        other = second.get_next()
        assert other is not None
        np.testing.assert_array_equal(sample["x"], other["x"])
        assert sample["x"].dtype == np.float32
        assert sample["x"].min() >= 2
        assert sample["x"].max() < 5
        count += 1
    assert count > 0
