"""One compile: an MLIR context, the flags in force, and the pipeline's phases run leg by leg on one module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from constpolicy.compiler import library, tool  # before the bindings: it decides what they load
from constpolicy.compiler.child import Step
from constpolicy.compiler.held_stderr import HeldStderr
from constpolicy.compiler.library import api, ir
from constpolicy.compiler.phases import HOISTING, before


class CompileFailed(Exception):
    """The compiler rejected the program and has said why on stderr."""


class _Repetitions:
    """Drops the errors that come from running leg by leg.

    IREE assigns devices at the start of every leg, and goes on after some errors there: what an earlier leg has shown
    is dropped once in each later one.
    """

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()
        self._repeated: set[tuple[str, str]] = set()

    def next_leg(self) -> None:
        self._repeated = set(self._seen)

    def __call__(self, diagnostic: ir.Diagnostic) -> bool:
        """Whether the diagnostic is dealt with: MLIR shows those that are not."""
        if diagnostic.severity is not ir.DiagnosticSeverity.ERROR:
            return False
        error = (str(diagnostic.location), diagnostic.message)
        if error in self._repeated:
            self._repeated.remove(error)
            return True
        self._seen.add(error)
        return False


class Session:
    """An IREE compiler session with its module, which every leg changes in place.

    The invocation that parsed the source stays open until the end: its console diagnostics know the source text,
    so that errors of later legs print as iree-compile prints them.
    """

    def __init__(self, flags: Sequence[str], *, verify_ir: bool = True, on_phase: Callable[[str], None]) -> None:
        """Sets the process-wide flags up (so: once per process). `on_phase` is told what runs next.

        Raises CompileFailed if they ask for a plugin that there is not.
        """
        on_phase("flags")
        with HeldStderr() as held:  # a wrong flag ends the process here, and iree-compile's own words are better
            held.begin()
            library.set_up_command_line(str(tool.executable()), flags)
        self._session = api.Session()
        self._verify_ir = verify_ir
        self._on_phase = on_phase
        self._repetitions = _Repetitions()
        self._open: list[api.Invocation] = []
        self.dump_phases_to: str | None = None
        self.on_step: Callable[[Step], None] | None = None  # is told what const-eval evaluates, one after the other
        try:
            self.context: ir.Context = self._session.context
        except RuntimeError:  # of the bindings, after the library has said why on stderr
            raise CompileFailed("the flags") from None

    def flags(self) -> dict[str, str]:
        """The effective values of the session flags, by name without dashes."""
        pairs = (flag.lstrip("-").partition("=") for flag in self._session.get_flags())
        return {name: value for name, _, value in pairs}

    @contextmanager
    def override(self, values: Mapping[str, str]) -> Iterator[None]:
        """Sets session flags (name without dashes: value) for the legs inside the `with`."""
        before = self.flags()
        self._set(values)
        try:
            yield
        finally:
            self._set({name: before[name] for name in values})

    def _set(self, values: Mapping[str, str]) -> None:
        self._session.set_flags(*(f"--{name}={value}" for name, value in values.items()))

    def parse(self, path: str, *, start: str, end: str) -> ir.Operation:
        """Reads the file ("-" is stdin) and runs the phases after `start` up to `end`.

        Raises OSError with the compiler library's words if the file cannot be opened, CompileFailed if it does
        not compile.
        """
        invocation = self._parsed(path)
        self._pipeline(invocation, start, end)
        return invocation.export_module()

    def compile(self, path: str, *, start: str, end: str, write: Callable[[api.Invocation], None]) -> None:
        """Runs all phases and hands the invocation to `write`. Raises as `parse`.

        The leg is split where const-eval has run: what that keeps in memory is given back with the passes of its leg.
        """
        invocation = self._parsed(path)
        if before(start, HOISTING) and before(HOISTING, end):
            self._pipeline(invocation, start, HOISTING)
            start = HOISTING
        self._pipeline(invocation, start, end)
        self._on_phase("output")
        write(invocation)

    def _parsed(self, path: str) -> api.Invocation:
        self._on_phase("parse")
        try:
            source = api.Source.open_file(self._session, library.FileName(path))
        except ValueError as error:
            raise OSError(str(error)) from None
        invocation = self._invocation()
        invocation.enable_console_diagnostics()
        if not invocation.parse_source(source):
            raise CompileFailed(path)
        self.context.attach_diagnostic_handler(self._repetitions)  # comes before the console's, which parsing attaches
        return invocation

    def run(self, module: ir.Operation, *, start: str, end: str, name: str | None = None) -> None:
        """Runs the phases after `start` up to `end` on the module, in place, and tells them as `name`.

        Raises CompileFailed.
        """
        invocation = self._borrow(module)
        self._pipeline(invocation, start, end, name)
        self._close(invocation)

    def run_passes(self, module: ir.Operation, pipeline: str) -> None:
        """Runs a textual pass pipeline on the module, in place.

        The text names passes on the module itself; wrapped in `builtin.module(...)` it would do nothing.
        """
        invocation = self._borrow(module)
        if not invocation.execute_text_pass_pipeline(pipeline):
            raise CompileFailed(pipeline)
        self._close(invocation)

    def finish(
        self,
        module: ir.Operation,
        *,
        start: str,
        end: str,
        write: Callable[[api.Invocation], None],
        name: str | None = None,
    ) -> None:
        """Runs the last leg and hands its invocation to `write`, which takes the output from it.

        It is told as two phases, or as one of this `name`. Raises CompileFailed.
        """
        invocation = self._borrow(module)
        self._pipeline(invocation, start, end, name)
        if name is None:
            self._on_phase("output")
        write(invocation)
        self._close(invocation)

    @contextmanager
    def diagnostics_held_back(self, hold: bool = True) -> Iterator[list[str]]:
        """Collects the diagnostics of the legs inside the `with`, as text lines; if `hold` is off, they print."""
        held: list[str] = []

        def keep(diagnostic: ir.Diagnostic) -> bool:
            severity = diagnostic.severity.name.lower()
            held.append(f"{str(diagnostic.location)[4:-1]}: {severity}: {diagnostic.message}")
            return True

        handler = self.context.attach_diagnostic_handler(keep) if hold else None
        try:
            yield held
        finally:
            if handler is not None:
                handler.detach()

    def _pipeline(self, invocation: api.Invocation, start: str, end: str, name: str | None = None) -> None:
        if start == end:
            return
        self._on_phase(name or end)
        self._repetitions.next_leg()
        library.set_phases(invocation, start, end)
        if self.dump_phases_to is not None:
            library.dump_phases_to(invocation, self.dump_phases_to)
        if not invocation.execute():
            raise CompileFailed(end)

    def _invocation(self) -> api.Invocation:
        invocation = self._session.invocation()
        self._open.append(invocation)
        library.verify_ir(invocation, self._verify_ir)
        return invocation

    def _borrow(self, module: ir.Operation) -> api.Invocation:
        invocation = self._invocation()
        invocation.import_module(module)
        return invocation

    def _close(self, invocation: api.Invocation) -> None:
        self._open.remove(invocation)
        invocation.close()
