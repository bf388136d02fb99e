"""Which policy is meant is known without loading one."""

from pathlib import Path

import pytest

from constpolicy.policy.choice import builtins, choose
from constpolicy.policy.load import load_policy


@pytest.mark.parametrize("name", builtins())
def test_a_built_in_policy_sets_no_flags_so_that_a_compile_need_not_wait_for_it(name: str) -> None:
    assert choose(name, None, {}).is_builtin
    assert load_policy(name, environ={}).policy.flags == []


def test_a_file_is_no_built_in_policy_whatever_it_is_called(tmp_path: Path) -> None:
    beside = tmp_path / "model.constpolicy.yaml"
    beside.write_text("schema: 1\nname: balanced\n")
    assert not choose(str(beside), None, {}).is_builtin
    assert not choose(None, tmp_path / "model.mlir", {}).is_builtin
    assert not choose(None, None, {"CONSTPOLICY_POLICY": str(beside)}).is_builtin


def test_without_any_other_the_default_is_meant(tmp_path: Path) -> None:
    choice = choose(None, tmp_path / "model.mlir", {})
    assert (choice.reference, choice.is_builtin) == ("balanced", True)
