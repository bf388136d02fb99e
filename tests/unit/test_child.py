"""The process of the compile: what it asks and returns, and every way in which it can end."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from constpolicy.compiler import child
from constpolicy.compiler.child import INTERNAL_ERROR, Interrupted, Link

# The tests run in processes with threads, which the forked child does not use.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def _no_answer(question: object) -> object:
    raise AssertionError(question)


def test_the_result_comes_back_and_questions_are_answered() -> None:
    def work(link: Link) -> str:
        return f"{link.ask('name')}, {link.ask('age')}"

    ended = child.run(work, answer=lambda question: f"the {question}")
    assert (ended.result, ended.exit_code, ended.signal, ended.crash) == ("the name, the age", 0, None, None)


def test_large_results_come_back_whole() -> None:
    ended = child.run(lambda link: b"x" * 5_000_000, answer=_no_answer)
    assert ended.result == b"x" * 5_000_000


class _Told(child.Listener):
    def __init__(self) -> None:
        self.told: list[str] = []
        self.ticks = 0

    def begin(self) -> None:
        self.told.append("begin")

    def phase(self, name: str) -> None:
        self.told.append(name)

    def step(self, step: child.Step) -> None:
        self.told.append(f"{step.number} of {step.total}: {step.name}")

    def tick(self) -> None:
        self.ticks += 1

    def end(self) -> None:
        self.told.append("end")


def test_a_listener_hears_of_steps_and_of_the_time_between_them() -> None:
    def work(link: Link) -> int:
        link.step(child.Step(0, 2, "one"))
        time.sleep(0.7)
        link.step(child.Step(1, 2, "two"))
        return int(link.ask("answer"))

    listener = _Told()
    ended = child.run(work, answer=lambda question: 42, listener=listener)
    assert listener.told == ["begin", "0 of 2: one", "1 of 2: two", "end"]
    assert listener.ticks > 0
    assert ended.result == 42


def test_a_listener_hears_of_the_end_even_if_that_is_a_crash() -> None:
    listener = _Told()
    child.run(lambda link: os.kill(os.getpid(), signal.SIGKILL), answer=_no_answer, listener=listener)
    assert listener.told == ["begin", "end"]


def test_phases_are_told_in_order_and_timed() -> None:
    def work(link: Link) -> bool:
        for phase in ("first", "second"):
            link.phase(phase)
            time.sleep(0.05)
        return True

    listener = _Told()
    ended = child.run(work, answer=_no_answer, listener=listener)
    assert listener.told == ["begin", "first", "second", "end"]
    assert list(ended.seconds) == ["start", "first", "second"]
    assert all(seconds > 0 for seconds in ended.seconds.values())


def test_a_signal_is_told_with_the_phase() -> None:
    def work(link: Link) -> None:
        link.phase("flow")
        os.kill(os.getpid(), signal.SIGKILL)

    ended = child.run(work, answer=_no_answer)
    assert (ended.signal, ended.exit_code) == (signal.SIGKILL, 137)
    assert ended.crash == "the compiler was ended by SIGKILL in phase 'flow'"


def test_an_exit_in_the_middle_is_told_with_its_code() -> None:
    def work(link: Link) -> None:
        os._exit(7)

    ended = child.run(work, answer=_no_answer)
    assert (ended.signal, ended.exit_code) == (None, 7)
    assert ended.crash == "the compiler was ended with exit code 7 in phase 'start'"


def test_an_exception_is_an_internal_error_with_its_traceback_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    def work(link: Link) -> None:
        raise RuntimeError("a mistake of ours")

    ended = child.run(work, answer=_no_answer)
    assert ended.exit_code == INTERNAL_ERROR
    assert "a mistake of ours" in capfd.readouterr().err


def _assert_gone(path: Path) -> None:
    with pytest.raises(ProcessLookupError):
        os.kill(int(path.read_text()), 0)


def test_what_the_answer_raises_ends_the_child(tmp_path: Path) -> None:
    path = tmp_path / "pid"

    def work(link: Link) -> None:
        path.write_text(str(os.getpid()))
        link.ask("ready")
        time.sleep(60)

    def refuse(question: object) -> object:
        raise ValueError("the policy is wrong")

    with pytest.raises(ValueError, match="the policy is wrong"):
        child.run(work, answer=refuse)
    _assert_gone(path)


@pytest.mark.parametrize(
    ("number", "exception"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Interrupted), (signal.SIGHUP, Interrupted)],
)
def test_a_signal_ends_the_child_even_one_that_does_not_listen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, exception: type[BaseException]
) -> None:
    monkeypatch.setattr(child, "_GRACE_SECONDS", 0.2)
    path = tmp_path / "pid"

    def work(link: Link) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        path.write_text(str(os.getpid()))
        link.ask("ready")
        time.sleep(60)

    def answer(question: object) -> object:
        threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
        return "go on"

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(exception):
        child.run(work, answer=answer)
    _assert_gone(path)
    assert signal.getsignal(signal.SIGTERM) is before


def test_it_runs_in_a_thread_too() -> None:
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(child.run(lambda link: 5, answer=_no_answer).result))
    thread.start()
    thread.join()
    assert results == [5]
