"""The result of a verification as data: what goes into the report."""

from __future__ import annotations

from enum import Enum

from pydantic import BaseModel, ConfigDict, computed_field

from constpolicy.verify.errors import ErrorStatistics
from constpolicy.verify.input_spec import InputSpec
from constpolicy.verify.tensor_record import TensorVerification
from constpolicy.verify.tolerance import Tolerance


class _Record(BaseModel):
    # Not extra="forbid": a written report holds the computed fields too, and can be read back.
    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")


class FailureKind(str, Enum):
    LOAD = "load"  # the module cannot be loaded
    SIGNATURE = "signature"  # the two modules do not take and give the same
    UNSUPPORTED = "unsupported"  # the function cannot be called from here
    ERROR = "error"  # the call gave an error
    CRASH = "crash"  # compiled code ended the process
    TIMEOUT = "timeout"
    MEMORY = "memory"  # the memory limit was reached

    def __str__(self) -> str:
        return self.value


class Failure(_Record):
    """Why outputs could not be compared. `text` is a sentence that names the module, the function and the call."""

    kind: FailureKind
    text: str


class OutputCheck(_Record):
    """One output over all calls. `text`, `call` and `statistics` are of the worst call; none if all are equal."""

    name: str
    type: str
    passed: bool
    bit_exact: bool  # in every call, the payloads of NaN aside
    all_nan: bool = False  # in every call: nothing was compared really
    text: str
    call: str | None = None
    statistics: ErrorStatistics | None = None


class FunctionCheck(_Record):
    """One function: its outputs after `calls` calls that were compared, or the failure that ended the calls."""

    function: str
    calls: int
    outputs: tuple[OutputCheck, ...] = ()
    failure: Failure | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def passed(self) -> bool:
        return self.failure is None and self.calls > 0 and all(output.passed for output in self.outputs)


class HostBuild(_Record):
    """The build for this CPU that was verified in place of the real one, with the same decisions by fingerprint.

    `missing` and `changed` name the candidates that are not in it, or could not have the decision there.
    """

    why: str  # the real one does not run here
    flags: tuple[str, ...]
    decisions: int  # how many were applied
    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def summary(self) -> str:
        """One sentence for the user."""
        text = f"{self.why}; verified a build for this CPU instead, with {_count(self.decisions, 'decision')} applied"
        if self.missing:
            text += f"; not verified, since missing there: {', '.join(self.missing)}"
        if self.changed:
            text += f"; not verified, since impossible there: {', '.join(self.changed)}"
        return text


class Verification(_Record):
    """What was compared, how strictly and why so, and what came out. `inputs` makes the same inputs again.

    `against` is what the reference is: "upstream", "const-eval-off", "iree-compile", "onnxruntime", "expected".
    `notes` say what to know about the inputs; `cause` where a difference comes from, if that was found out.
    """

    reference: str
    candidate: str
    against: str = "upstream"
    tolerance: Tolerance
    reason: str  # why this tolerance
    inputs: InputSpec
    notes: tuple[str, ...] = ()
    host_build: HostBuild | None = None
    cause: str | None = None
    functions: tuple[FunctionCheck, ...] = ()
    failure: Failure | None = None  # of a module as a whole
    tensors: TensorVerification | None = None  # the evaluated results, one by one, if that was asked for

    @computed_field  # type: ignore[prop-decorator]
    @property
    def passed(self) -> bool:
        if self.tensors is not None and not self.tensors.passed:
            return False
        return self.failure is None and bool(self.functions) and all(check.passed for check in self.functions)

    @property
    def bit_exact(self) -> bool:
        """Whether every output was compared and none differs in a bit."""
        return self.passed and all(output.bit_exact for check in self.functions for output in check.outputs)

    def summary(self) -> str:
        """One line: "2 outputs bit-exact over 1 iteration", or what is wrong with the numbers."""
        if self.failure is not None:
            return self.failure.text
        several = len(self.functions) > 1
        parts = [check.failure.text for check in self.functions if check.failure is not None]
        outputs = [(check, output) for check in self.functions for output in check.outputs]
        for check, output in sorted(outputs, key=lambda pair: pair[1].passed):
            if not output.bit_exact:
                name = f"@{check.function} {output.name}" if several else output.name
                where = f" in {output.call}" if output.call and check.calls > 1 else ""
                parts.append(f"{name}: {output.text}{where}: {'passed' if output.passed else 'failed'}")
        exact = sum(output.bit_exact for _, output in outputs)
        if exact or not parts:
            nothing = [output.name for _, output in outputs if output.all_nan]
            iterations = max((check.calls for check in self.functions), default=0)
            parts.append(f"{_count(exact, 'output')} bit-exact over {_count(iterations, 'iteration')}")
            if nothing:
                parts[-1] += f" ({', '.join(nothing)}: nothing but NaN, give inputs that suit the model)"
        return "; ".join(parts)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
