"""Makes the check module beside the program: kept before const-eval, built after it, compiled at last."""

from __future__ import annotations

import time
from collections.abc import Sequence

from iree.compiler import ir

from constpolicy.compiler import second_output
from constpolicy.compiler.emit import emit_module
from constpolicy.compiler.phases import CHECK_MODULE, HOISTING
from constpolicy.compiler.session import CompileFailed, Session
from constpolicy.records import Candidate, CheckModule, StoredResult
from constpolicy.rewrite import check_module


class CheckBuild:
    """The check module on its way. Without a path for its output, nothing is done."""

    def __init__(
        self, session: Session, module: ir.Operation, candidates: Sequence[Candidate], output: str | None
    ) -> None:
        """Keeps what is needed of the module, of which nothing has been evaluated yet."""
        self._session, self._module, self._candidates, self._output = session, module, candidates, output
        self._kept = None if output is None else check_module.keep(module)
        self._results: tuple[StoredResult, ...] = ()

    def build(self) -> None:
        """Takes over the values that the globals have got."""
        if self._kept is not None:
            self._results = check_module.build(self._kept, self._module, self._candidates)

    def compile(self) -> CheckModule | None:
        """Writes the .vmfb, if there is a result to check; None if it was not asked for.

        A failure, of which the record has what the compiler says, is none of the program's, which is written already.
        """
        if self._kept is None or self._output is None:
            return None
        if all(result.obstacle is not None for result in self._results):
            return CheckModule(self._results)
        started = time.monotonic()
        failure = self._compile(self._kept.module, self._output)
        return CheckModule(self._results, failure, time.monotonic() - started)

    def _compile(self, module: ir.Operation, output: str) -> str | None:
        session = self._session
        session.dump_phases_to = None
        with session.override(second_output.overrides(session.flags())), session.diagnostics_held_back() as held:
            try:
                session.finish(
                    module, start=HOISTING, end="end", write=lambda made: emit_module(made, output), name=CHECK_MODULE
                )
            except CompileFailed:
                return next((line for line in held if ": error: " in line), "the compiler does not say why")
            except OSError as error:
                return str(error)
        return None
