"""Compiles a program with every candidate shared that can be, whatever a policy would say.

    python tests/share_everything.py INPUT OUTPUT [iree-compile flags]

Prints the offers, refusals and the evaluation as JSON, on stderr if the output is "-". `python -m constpolicy` is not
used, so that the tests of the action do not depend on how policies choose it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)


@dataclass(frozen=True)
class Offered:
    """What `share` offered and what became of it; all by the symbol of the candidate."""

    offers: dict[str, dict[str, object]]  # the fields of records.ShareOffer
    refusals: dict[str, str]
    shared: list[str]
    not_shared: dict[str, str]
    duplicates: list[dict[str, object]]  # the fields of records.Duplicate


def compile_shared(source: Path, output: Path, *flags: str) -> Offered:
    """Compiles for the host's CPU with everything shared that can be; the rest is evaluated."""
    command = [sys.executable, __file__, str(source), str(output), *CPU, *flags]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return Offered(**json.loads(done.stdout))


def compile_upstream(source: Path, output: Path, *flags: str) -> None:
    """Compiles for the host's CPU with iree-compile itself."""
    from constpolicy.compiler.tool import executable

    subprocess.run([executable(), source, "-o", output, *CPU, *flags], check=True, capture_output=True)


def main(arguments: list[str]) -> None:
    from constpolicy import pipeline
    from constpolicy.compiler import child
    from constpolicy.compiler.flags import parse
    from constpolicy.records import Action, Program

    asked: list[Program] = []
    source, output, *flags = arguments

    def answer(question: object) -> object:
        assert isinstance(question, pipeline.WantsDecisions)
        asked.append(question.program)
        actions = {c.id: Action.SHARE if c.share else Action.EVALUATE for c in question.program.candidates}
        return pipeline.Orders(actions, survive_const_eval=True, store_once=True)

    ended = child.run(partial(pipeline.compile_module, parse([source, *flags]), output, ()), answer=answer)
    assert ended.result is not None, ended.crash
    assert ended.result.exit_code == 0
    candidates = {c.id: c for c in asked[0].candidates}
    evaluation = ended.result.evaluation
    print(
        json.dumps(
            {
                "offers": {c.symbol: vars(c.share) for c in candidates.values() if c.share},
                "refusals": {c.symbol: c.refusals[Action.SHARE] for c in candidates.values() if not c.share},
                "shared": [candidates[id].symbol for id in evaluation.shared],
                "not_shared": {candidates[id].symbol: reason for id, reason in evaluation.not_shared.items()},
                "duplicates": [vars(duplicate) for duplicate in evaluation.duplicates],
            }
        ),
        file=sys.stderr if output == "-" else sys.stdout,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
