"""The progress of a compile on a terminal: the phase, the time, and which constant expression is being evaluated."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from constpolicy.compiler.child import Listener, Step

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_SLOW_SECONDS = 5.0  # an evaluation that takes longer is worth a word


class Progress(Listener):
    """Shows one line while a compile runs, which is gone afterwards; what takes long to evaluate is named and stays.

    rich draws it, without its thread: other processes are forked between two compiles.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._bar: Bar | None = None
        self._step: Step | None = None
        self._since = 0.0

    def begin(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), TimeElapsedColumn())
        console = Console(file=self._stream)
        self._bar = Bar(*columns, console=console, auto_refresh=False, transient=True, redirect_stdout=False)
        self._bar.add_task("start", total=None)
        self._bar.start()

    def phase(self, name: str) -> None:
        self._step = None
        self._show(name, completed=0, total=None)

    def step(self, step: Step) -> None:
        self._step, self._since = step, self._clock()
        self._show(f"const-eval {step.number + 1}/{step.total}", completed=step.number, total=step.total)

    def tick(self) -> None:
        if self._bar is None:
            return
        if self._step is not None and self._clock() - self._since > _SLOW_SECONDS:
            took = f"constpolicy: evaluating {self._step.name} has taken more than {_SLOW_SECONDS:g} s"
            self._bar.console.print(took, markup=False, highlight=False, soft_wrap=True)
            self._step = None
        self._bar.refresh()

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _show(self, description: str, *, completed: int, total: int | None) -> None:
        if self._bar is not None:
            (task,) = self._bar.tasks
            task.total = total  # `update` takes None for no change
            self._bar.update(task.id, description=description, completed=completed, refresh=True)
