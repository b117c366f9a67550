"""The lock to write, and hooks that have it while they are at work."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from stepper import _C


class Watcher:
    """As much of an engine as a hook asks for."""

    def __init__(self) -> None:
        self.lost = ""
        self.defects: list[Exception] = []

    def break_down(self, error: Exception) -> None:
        self.defects.append(error)


def in_a_thread(act: Callable[[], object]) -> Any:
    """What another thread gets when it does something."""
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(act()))
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    return answers[0]


# The lock


def test_its_owner_can_take_the_lock_again() -> None:
    lock = _C.ReentrantLock()
    with lock, lock:
        assert lock.acquire()
        lock.release()
        assert in_a_thread(lambda: lock.acquire(blocking=False)) is False
    assert in_a_thread(lambda: lock.acquire(blocking=False)) is True


def test_only_its_owner_gives_the_turn_back() -> None:
    lock = _C.ReentrantLock()
    with pytest.raises(RuntimeError, match="does not have the lock"):
        lock.release()
    with lock:

        def release() -> str:
            with pytest.raises(RuntimeError, match="does not have the lock") as error:
                lock.release()
            return str(error.value)

        assert in_a_thread(release)
        assert not in_a_thread(lambda: lock.acquire(blocking=False))


def test_one_thread_at_a_time_has_the_lock() -> None:
    lock = _C.ReentrantLock()
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(300):
            with lock:
                inside.append(_thread.get_ident())
                most.append(len(inside))
                time.sleep(0)
                inside.pop()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    finally:
        sys.setswitchinterval(interval)
    assert (len(most), max(most)) == (1200, 1)


def test_ctrl_c_ends_the_waiting_for_a_lock() -> None:
    lock = _C.ReentrantLock()
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            over.wait(600)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(600)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            lock.acquire()
    finally:
        signal.signal(signal.SIGALRM, before)
        over.set()
        holder.join(20)
    with lock:  # nobody has it, and nobody thinks he has
        pass


# Hooks


def test_a_hook_has_the_lock_while_it_is_at_work() -> None:
    lock, watcher = _C.ReentrantLock(), Watcher()
    found: list[object] = []

    def act(*arguments: object, **named: object) -> str:
        found.append((arguments, named, in_a_thread(lambda: lock.acquire(blocking=False))))
        return "nobody hears it"

    hook = _C.Hook(act, lock, watcher)
    assert hook(1, name=2) is None
    assert found == [((1,), {"name": 2}, False)]
    assert in_a_thread(lambda: lock.acquire(blocking=False)) is True


@pytest.mark.parametrize(
    ("error", "lost", "defects"),
    [
        (ValueError, "", 1),
        (RecursionError, "the program was at its recursion limit", 0),
        (MemoryError, "the program was out of memory", 0),
    ],
)
def test_what_a_hook_raises_reaches_nobody(error: type[Exception], lost: str, defects: int) -> None:
    lock, watcher = _C.ReentrantLock(), Watcher()

    def act() -> None:
        raise error

    _C.Hook(act, lock, watcher)()
    assert (watcher.lost, len(watcher.defects)) == (lost, defects)
    assert in_a_thread(lambda: lock.acquire(blocking=False)) is True


def test_what_ends_the_program_goes_on() -> None:
    lock, watcher = _C.ReentrantLock(), Watcher()

    def act() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _C.Hook(act, lock, watcher)()
    assert not watcher.defects
    assert in_a_thread(lambda: lock.acquire(blocking=False)) is True


def test_a_hook_that_gave_the_turn_away_is_a_defect() -> None:
    lock, watcher = _C.ReentrantLock(), Watcher()
    _C.Hook(lock.release, lock, watcher)()
    assert [type(defect) for defect in watcher.defects] == [RuntimeError]


def test_a_turn_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError):
        _C.Hook(print, threading.RLock(), Watcher())  # type: ignore[arg-type]  # refused
