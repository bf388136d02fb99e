"""A build for this CPU with the decisions of another build, applied to the candidates by their fingerprints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from constpolicy import driver
from constpolicy.compiler import flags as command_lines
from constpolicy.compiler.flags import CommandLine
from constpolicy.compiler.host import HOST_FLAGS
from constpolicy.policy.load import LoadedPolicy
from constpolicy.policy.schema import Budgets, Policy, Rule, When
from constpolicy.records import Action, Byproducts, ConstPolicyError, Decision
from constpolicy.verify.record import HostBuild

# Flags that say what device, CPU and kind of file the code is for, by how their names begin.
_TARGET_FLAGS = (
    "iree-hal-default-device",
    "iree-hal-local-target-device-backends",
    "iree-hal-target-backends",
    "iree-hal-target-device",
    "iree-llvmcpu-embedded-linker-path",
    "iree-llvmcpu-link-",
    "iree-llvmcpu-static-library-output-path",
    "iree-llvmcpu-system-linker-path",
    "iree-llvmcpu-target-",
)


@dataclass(frozen=True)
class Built:
    """`command` is the line for this CPU, by which the reference is to be compiled, too."""

    command: CommandLine
    compiled: driver.Compiled
    record: HostBuild


def build_for_host(
    command: CommandLine, compiled: driver.Compiled, output: Path, why: str, *, check_output: Path | None = None
) -> Built:
    """Compiles the program again, for this CPU, with the decisions of `compiled`, into `output`.

    `check_output` is where to write the check module, if one is wanted. Raises ConstPolicyError if it is not possible.
    """
    if compiled.policy is None or compiled.outcome is None:
        raise ConstPolicyError(f"{why}, and there are no decisions to apply to a build for this CPU")
    here = host_command(command, output)
    policy = pinned(compiled.policy, compiled.outcome.decisions)
    byproducts = Byproducts(check_module=None if check_output is None else str(check_output))
    built = driver.compile_program(here, policy, byproducts=byproducts)
    if built.exit_code != 0 or built.outcome is None:
        raise ConstPolicyError(f"{why}, and the program does not compile for this CPU")
    return Built(here, built, _record(compiled, built, why))


def host_command(command: CommandLine, output: Path) -> CommandLine:
    """The same command line for this machine's CPU. Flags that only other targets read may stay."""
    kept = without_target_flags(command.without_output)
    return command_lines.parse([*kept, *HOST_FLAGS, "-o", str(output)])


def without_target_flags(arguments: Sequence[str]) -> tuple[str, ...]:
    """The arguments without the flags that choose the target."""
    return tuple(_kept(arguments))


def _kept(arguments: Sequence[str]) -> Iterator[str]:
    value_follows = False
    for argument in arguments:
        name, equals, _ = argument.lstrip("-").partition("=")
        if argument.startswith("-") and name.startswith(_TARGET_FLAGS):
            value_follows = not equals
        elif not value_follows or argument.startswith("-"):
            value_follows = False
            yield argument
        else:
            value_follows = False


def pinned(policy: LoadedPolicy, decisions: Sequence[Decision]) -> LoadedPolicy:
    """The policy with a rule before its own for each action, which names the candidates that have it.

    Without its budgets, which have been spent already, and without flags that choose the target.
    """
    ids: dict[Action, list[str]] = {}
    for decision in decisions:
        ids.setdefault(decision.action, []).append(decision.candidate_id)
    pins = [Rule(name=f"as decided: {a}", when=When(id=chosen), action=a) for a, chosen in ids.items()]
    own: Policy = policy.policy
    changes = {
        "rules": [*pins, *own.rules],
        "budgets": Budgets(),
        "flags": list(without_target_flags(own.flags)),
    }
    return replace(policy, policy=own.model_copy(update=changes), origin=f"{policy.origin}, with decisions pinned")


def _record(compiled: driver.Compiled, built: driver.Compiled, why: str) -> HostBuild:
    assert compiled.program is not None
    assert compiled.outcome is not None
    assert built.outcome is not None
    names = {c.id: f"{c.id}: {c.kind} to {c.type.text}" for c in compiled.program.candidates}
    there = {decision.candidate_id: decision.action for decision in compiled.outcome.decisions}
    here = {decision.candidate_id: decision.action for decision in built.outcome.decisions}
    common = there.keys() & here.keys()
    changed = [id for id in there if id in common and here[id] is not there[id]]
    return HostBuild(
        why=why,
        flags=HOST_FLAGS,
        decisions=len(common) - len(changed),
        missing=tuple(names[id] for id in there if id not in common),
        changed=tuple(f"{names[id]}: {there[id]} became {here[id]}" for id in changed),
    )
