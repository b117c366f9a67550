"""Where another thread is."""

from __future__ import annotations

import gc
import threading
import weakref

from stepper import _C


class Held:
    """Something that dies with a frame."""


def test_the_frames_of_another_thread_are_told_innermost_first() -> None:
    inside, leave = threading.Event(), threading.Event()

    def inner() -> None:
        inside.set()
        leave.wait()

    thread = threading.Thread(target=lambda: inner())
    thread.start()
    inside.wait()
    assert thread.ident is not None
    frames = _C.thread_frames(thread.ident, 100)
    leave.set()
    thread.join()
    own = [(module, function) for module, function, *_ in frames if module == __name__]
    name = "test_the_frames_of_another_thread_are_told_innermost_first.<locals>"
    assert own == [(__name__, f"{name}.inner"), (__name__, f"{name}.<lambda>")]
    line = inner.__code__.co_firstlineno + 2
    assert (__name__, f"{name}.inner", __file__, line) in frames


def test_no_frame_lives_on_because_of_that() -> None:
    def asked() -> weakref.ref[Held]:
        held = Held()
        _C.thread_frames(threading.get_ident(), 100)
        return weakref.ref(held)

    assert asked()() is None
    assert gc.isenabled()


def test_no_more_frames_are_told_than_asked_for() -> None:
    assert len(_C.thread_frames(threading.get_ident(), 2)) == 2
    assert _C.thread_frames(1, 10) == []
