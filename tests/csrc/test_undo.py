"""What C does for calls that must leave things as they were."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from stepper import _C


def fail() -> None:
    raise KeyError("the call")


def test_undo_is_called_whatever_ends_the_call() -> None:
    called: list[BaseException | None] = []

    def undo() -> None:
        called.append(sys.exc_info()[1])

    assert _C.call_and_undo(undo, lambda a, b: a + b, 1, 2) == 3
    with pytest.raises(KeyError, match="the call"):
        _C.call_and_undo(undo, fail)
    assert called[0] is None
    assert isinstance(called[1], KeyError)
    assert sys.exc_info()[1] is None


@pytest.mark.parametrize(
    ("call", "raised"), [(lambda: 1, KeyboardInterrupt), (fail, KeyboardInterrupt)]
)
def test_an_interrupt_in_undo_has_it_run_again_and_goes_on(call: Any, raised: Any) -> None:
    interrupts = [KeyboardInterrupt, KeyboardInterrupt]
    done = []

    def undo() -> None:
        if interrupts:
            raise interrupts.pop()
        done.append(True)

    with pytest.raises(raised):
        _C.call_and_undo(undo, call)
    assert done == [True]


def test_what_ends_the_program_is_not_replaced() -> None:
    interrupts = [ValueError]

    def undo() -> None:
        if interrupts:
            raise interrupts.pop()

    with pytest.raises(SystemExit):
        _C.call_and_undo(undo, sys.exit)


def test_an_undo_that_never_comes_to_its_end_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[type] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: told.append(report.exc_type))
    with pytest.raises(KeyError):
        _C.call_and_undo(fail, lambda: 1)
    assert told == [KeyError]


def test_undo_has_room_at_the_recursion_limit_and_no_tracer() -> None:
    deepest, undone = [0], []

    def undo(left: int = 40) -> None:
        if left:
            undo(left - 1)
        else:
            undone.append(True)

    def deeper() -> None:
        deepest[0] += 1
        _C.call_and_undo(undo, deeper)

    with pytest.raises(RecursionError):
        deeper()
    assert len(undone) == deepest[0]

    seen: list[str] = []
    sys.settrace(lambda frame, event, argument: seen.append(frame.f_code.co_name))
    try:
        _C.call_and_undo(undo, len, ())
    finally:
        sys.settrace(None)
    assert "undo" not in seen


@pytest.fixture
def raising_signal() -> Iterator[None]:
    def handle(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGUSR1, handle)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("raising_signal")
def test_signals_wait_until_an_undisturbed_call_is_over() -> None:
    reached = []

    def work() -> None:
        signal.raise_signal(signal.SIGUSR1)
        assert _C.call_undisturbed(len, "ab") == 2  # inside of another
        for _ in range(1000):
            pass
        reached.append(True)

    handler = signal.getsignal(signal.SIGUSR1)
    with pytest.raises(TimeoutError):
        _C.call_undisturbed(work)
    assert reached == [True]
    assert signal.getsignal(signal.SIGUSR1) is handler
    with pytest.raises(TimeoutError):  # and it is heard again
        signal.raise_signal(signal.SIGUSR1)


def test_capturing_is_put_back_after_a_call_and_a_block() -> None:
    before = _C.set_frame_callback(None, None)
    try:
        capturing = _C.Capturing(None, "a")
        assert capturing.call(lambda: _C.current_backend(), (), {}) == "a"
        with pytest.raises(KeyError):
            capturing.call(fail, (), {})
        with capturing, _C.Capturing(None, "b"):
            assert _C.current_backend() == "b"
        with pytest.raises(KeyError), capturing:
            fail()
        assert _C.current_backend() is None
        with pytest.raises(RuntimeError):
            capturing.__exit__(None, None, None)
    finally:
        _C.set_frame_callback(*before)


def test_the_lock_is_had_so_often_again_and_who_wrote_then_writes() -> None:
    lock = _C.ReentrantLock()
    writing, not_writing = _C.Writing(lock, True), _C.Writing(lock, False)
    me = threading.get_ident()
    with writing:
        depth = lock.depth()
        not_writing.__enter__()
        lock.acquire()
        assert (lock.depth(), lock.writer) == (3, 0)
        lock.unwind(depth)
        assert (lock.depth(), lock.writer) == (1, me)
    assert (lock.depth(), lock.writer) == (0, 0)


def test_a_hook_gives_back_what_was_left_taken() -> None:
    class Watcher:
        lost = ""

        def break_down(self, error: Exception) -> None:
            raise AssertionError from error

    lock = _C.ReentrantLock()

    def hook() -> None:
        _C.Writing(lock, True).__enter__()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _C.Hook(hook, lock, Watcher())()
    assert (lock.depth(), lock.writer) == (0, 0)
