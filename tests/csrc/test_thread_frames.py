"""Where another thread is, and where the program is."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import pytest

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


def test_the_program_s_own_frames_are_told_outermost_first_and_each_place_is_made_once() -> None:
    asked: list[str] = []
    made: list[tuple[str, int, str]] = []

    def is_machinery(file: str) -> bool:
        asked.append(file)
        return file != __file__

    def place(file: str, line: int, function: str) -> tuple[str, int, str]:
        made.append((file, line, function))
        return made[-1]

    stack = _C.ProgramStack(is_machinery, place, 2)

    def inner() -> tuple[tuple[str, int, str], ...]:
        return stack(sys._getframe())

    def outer() -> tuple[tuple[str, int, str], ...]:
        return inner()

    stacks = [outer() for _ in range(3)]
    name = "test_the_program_s_own_frames_are_told_outermost_first_and_each_place_is_made_once"
    first = inner.__code__.co_firstlineno
    assert stacks[0] == (
        (__file__, first + 4, f"{name}.<locals>.outer"),
        (__file__, first + 1, f"{name}.<locals>.inner"),
    )
    assert stacks[1:] == stacks[:1] * 2
    assert (sorted(made), asked) == (sorted(stacks[0]), [__file__])
    assert stack(None) == ()
    assert stack.__call__(sys._getframe())[-1][2] == name


def test_a_code_at_the_address_of_another_has_places_of_its_own() -> None:
    stack = _C.ProgramStack(lambda file: file == __file__, lambda *place: place, 1)
    names = [f"made_{number}" for number in range(50)]
    told = []
    for name in names:
        scope: dict[str, Any] = {}
        exec(compile(f"def {name}(ask, frame):\n  return ask(frame(0))", name, "exec"), scope)
        told += scope[name](stack, sys._getframe)
        del scope  # with the code, whose address the next one has, most often
    assert told == [(name, 2, name) for name in names]


def test_nothing_of_it_is_kept_when_asking_goes_wrong() -> None:
    stack = _C.ProgramStack(lambda file: bool(1 / 0), lambda *place: place, 2)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            stack(sys._getframe())
    with pytest.raises(TypeError, match="a frame or None"):
        stack(3)  # type: ignore[arg-type]  # that is what is tried
