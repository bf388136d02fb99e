"""How to verify: what the user asks for, on top of what the policy says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from constpolicy.policy.schema import Verify
from constpolicy.verify.input_spec import InputRange, InputShape, InputSpec
from constpolicy.verify.messages import ParameterArchive
from constpolicy.verify.run import Limits
from constpolicy.verify.tolerance import Tolerance, from_data


class Against(str, Enum):
    """What the build under the policy is compared with."""

    UPSTREAM = "upstream"  # the build under the policy `upstream`, made from the same command line
    CONST_EVAL_OFF = "const-eval-off"  # likewise, with nothing evaluated
    IREE_COMPILE = "iree-compile"  # what the real iree-compile makes of the command line
    ONNX_RUNTIME = "onnxruntime"  # the .onnx model that the program was imported from
    EXPECTED = "expected"  # outputs that the user gives

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Settings:
    """What the user asks for.

    inputs: what is set in it goes before what the policy says.
    tolerance: takes the place of what the decisions allow.
    expected: outputs in iree-run-module's `--expected_output` syntax, for Against.EXPECTED.
    onnx: the model for Against.ONNX_RUNTIME.
    """

    inputs: InputSpec = field(default_factory=InputSpec)
    limits: Limits = field(default_factory=Limits)
    tolerance: Tolerance | None = None
    against: tuple[Against, ...] = (Against.UPSTREAM,)
    expected: tuple[str, ...] = ()
    onnx: Path | None = None
    parameters: tuple[ParameterArchive, ...] = ()
    tensors: bool = False  # check every evaluated result, too


def policy_tolerance(verify: Verify) -> Tolerance:
    """The tolerance of a policy's `verify:` section. Raises ConstPolicyError."""
    data = verify.model_dump(exclude={"inputs", "outputs"}, exclude_unset=True)
    named = [{"output": name} | bounds.model_dump(exclude_unset=True) for name, bounds in verify.outputs.items()]
    return from_data(data | {"outputs": named})


def merged_inputs(verify: Verify, asked: InputSpec) -> InputSpec:
    """The inputs that the user asks for, and what the policy says where he does not; his ranges and shapes first."""
    own = verify.inputs
    ranges = tuple(InputRange(name=_name(n), low=low, high=high) for n, (low, high) in own.ranges.items())
    shapes = tuple(InputShape(name=_name(name), shape=tuple(shape)) for name, shape in own.shapes.items())
    said: Mapping[str, object] = own.model_dump(include={"seed", "iterations", "sets"}, exclude_unset=True)
    changes = {key: value for key, value in said.items() if key not in asked.model_fields_set}
    spec = InputSpec.model_validate(asked.model_dump(exclude_unset=True) | changes)
    return spec.model_copy(update={"ranges": (*spec.ranges, *ranges), "shapes": (*spec.shapes, *shapes)})


def _name(key: str) -> str | None:
    return None if key == "*" else key
