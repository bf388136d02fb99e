"""Whether a module can run here is told from what it was compiled for, and host builds drop what chose the target."""

from __future__ import annotations

import platform
from dataclasses import replace

import pytest

from constpolicy.compiler import host
from constpolicy.compiler.facts import ExecutableTarget, effective, read_targets
from constpolicy.policy.load import LoadedPolicy
from constpolicy.policy.schema import Policy
from constpolicy.records import Action, Decision
from constpolicy.verify.host_build import pinned, without_target_flags
from constpolicy.verify.runnable import is_this_cpu, obstacle

HERE = ExecutableTarget("local", "llvm-cpu", "embedded-elf-x86_64", "some-cpu", frozenset({"avx", "avx2"}))
DEVICE = (
    '#hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "znver4", '
    'cpu_features = "+avx,+fma,-avx", target_triple = "x86_64"}>, #hal.executable.target<"vmvx", "vmvx-bytecode-fb">]>'
)


@pytest.fixture(autouse=True)
def this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(host, "target", lambda: HERE)


def test_targets_are_read_with_device_backend_format_and_cpu() -> None:
    text = (
        f'#hal.device.select<[{DEVICE}, #hal.device.target<"hip", [#hal.executable.target<"rocm", "rocm-hsaco-fb">]>]>'
    )
    assert list(read_targets(text)) == [
        ExecutableTarget("local", "llvm-cpu", "embedded-elf-x86_64", "znver4", frozenset({"fma"})),
        ExecutableTarget("local", "vmvx", "vmvx-bytecode-fb"),
        ExecutableTarget("hip", "rocm", "rocm-hsaco-fb"),
    ]


def test_the_last_mention_of_a_feature_counts() -> None:
    assert effective("+avx,-fma,-avx,+fma") == {"fma"}
    assert effective("") == frozenset()


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (
            ExecutableTarget("vulkan", "vulkan-spirv", "vulkan-spirv-fb"),
            "the device 'vulkan' (vulkan-spirv), not the CPU",
        ),
        (replace(HERE, format="embedded-elf-arm_64"), "the architecture arm_64, and this machine's is x86_64"),
        (replace(HERE, format="static"), "a static library"),
        (
            replace(HERE, cpu="large", cpu_features=frozenset({"avx", "amx-tile", "avx512f"})),
            "the target CPU 'large' has features that this CPU lacks: amx-tile, avx512f",
        ),
    ],
)
def test_what_cannot_run_here_is_told_with_the_reason(target: ExecutableTarget, reason: str) -> None:
    found = obstacle([HERE, target])
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    "target",
    [
        HERE,
        replace(HERE, cpu="", cpu_features=frozenset()),
        replace(HERE, cpu="other", cpu_features=frozenset({"avx", "wbnoinvd", "pku"})),  # for the system, never chosen
        replace(HERE, format="system-elf-x86_64"),
        ExecutableTarget("local", "vmvx", "vmvx-bytecode-fb"),
    ],
)
def test_what_can_run_here_has_no_obstacle(target: ExecutableTarget) -> None:
    assert obstacle([target]) is None


def test_only_code_for_exactly_this_cpu_is_the_hosts() -> None:
    assert is_this_cpu([HERE])
    assert not is_this_cpu([])
    assert not is_this_cpu([HERE, replace(HERE, cpu_features=frozenset({"avx"}))])
    assert not is_this_cpu([replace(HERE, cpu="other")])


def test_flags_that_choose_the_target_are_dropped_in_every_spelling() -> None:
    arguments = (
        "model.mlir",
        "--iree-hal-target-device=vulkan",
        "--iree-llvmcpu-target-cpu",
        "znver4",
        "--iree-opt-level=O2",
        "-iree-llvmcpu-target-cpu-features=+avx",
        "--iree-hal-target-backends",
        "rocm",
        "--iree-opt-const-eval",
    )
    assert without_target_flags(arguments) == ("model.mlir", "--iree-opt-level=O2", "--iree-opt-const-eval")


def test_pinning_names_every_candidate_once_under_its_action_before_the_policys_rules() -> None:
    policy = Policy.model_validate(
        {
            "schema": 1,
            "name": "own",
            "rules": [{"name": "mine", "when": {"kind": "pad"}, "action": "inline"}],
            "budgets": {"file_growth": 0},
            "flags": ["--iree-hal-target-device=hip", "--iree-opt-level=O1"],
        }
    )
    decisions = [
        Decision(id, action, "", "default", 0)
        for id, action in (("a", Action.EVALUATE), ("b", Action.SHARE), ("c", Action.EVALUATE))
    ]
    result = pinned(LoadedPolicy(policy, "a test", True), decisions).policy
    assert [(rule.action, rule.when.id) for rule in result.rules[:2]] == [
        (Action.EVALUATE, ["a", "c"]),
        (Action.SHARE, ["b"]),
    ]
    assert [rule.name for rule in result.rules[2:]] == ["mine"]
    assert result.budgets.file_growth is None
    assert result.flags == ["--iree-opt-level=O1"]
