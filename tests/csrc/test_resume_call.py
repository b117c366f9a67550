"""Calls that a frame leaves to the hook: as if its function had gone on."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any, cast

import pytest

from stepper import _C
from tests.csrc.test_frame_replace import replaced

pytestmark = pytest.mark.usefixtures("hook", "way")

kept: list[types.FrameType] = []


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    kept.clear()


def original(x: int) -> int:
    raise AssertionError("other code runs in its place")


def keep_caller() -> None:
    kept.append(sys._getframe(1))


def ends(x: int) -> int:
    if x > 1:
        return x
    return -x


def raises(x: int) -> int:
    x += 1
    raise ValueError(x)


def keeps_and_leaves_to(function: Callable[[int], int]) -> Callable[[int], int]:
    """The original, in place of which a frame is kept, and the rest left to a function."""

    def other(x: int) -> int:
        keep_caller()
        return resume(following, x)  # type: ignore[name-defined]  # noqa: F821  # it is there when it runs

    # Other code has the free variables of the code in whose place it runs: none.
    scope: dict[str, Any] = {"keep_caller": keep_caller, "resume": _C.resume, "following": function}
    code = other.__code__.replace(co_freevars=())
    return replaced(types.FunctionType(original.__code__, scope), code)


def line(frame: types.FrameType) -> int:
    return frame.f_lineno


def line_in(function: Callable[[int], int], offset: int) -> int:
    return function.__code__.co_firstlineno + offset


def test_the_call_is_made_when_the_frame_has_ended() -> None:
    assert keeps_and_leaves_to(ends)(3) == 3


@pytest.mark.parametrize(("x", "offset"), [(3, 2), (-3, 3)])
def test_a_kept_frame_stands_where_the_last_one_ended(x: int, offset: int) -> None:
    keeps_and_leaves_to(ends)(x)
    assert line(kept[0]) == line_in(ends, offset)


def test_so_it_does_when_that_one_raised() -> None:
    with pytest.raises(ValueError, match="4"):
        keeps_and_leaves_to(raises)(3)
    assert line(kept[0]) == line_in(raises, 2)


def test_all_frames_of_a_row_of_calls_are_told() -> None:
    def second(x: int) -> Any:
        keep_caller()
        return _C.resume(cast(types.FunctionType, ends), x)

    assert keeps_and_leaves_to(second)(3) == 3
    assert len(kept) == 2
    assert [line(frame) for frame in kept] == [line_in(ends, 2)] * 2


def test_what_the_resume_function_calls_does_not_count() -> None:
    def calls(x: int) -> int:
        sorted([x, 0], key=ends)
        return x

    assert keeps_and_leaves_to(calls)(3) == 3
    assert line(kept[0]) == line_in(calls, 2)


def test_what_the_end_of_its_variables_calls_does_not_count() -> None:
    class Last:
        def __del__(self) -> None:
            ends(1)

    def has(x: int) -> int:
        last = Last()
        return x if last else 0

    assert keeps_and_leaves_to(has)(3) == 3
    assert line(kept[0]) == line_in(has, 2)


def test_a_kept_frame_dies_with_who_kept_it() -> None:
    run = keeps_and_leaves_to(ends)
    run(3)
    (frame,) = kept
    kept.clear()
    local = object()
    assert sys.getrefcount(frame) == sys.getrefcount(local)


def test_a_call_can_be_looked_at_and_made_by_hand() -> None:
    value = object()
    call = _C.resume(cast(types.FunctionType, line), value, 3)
    assert (call.function, call.args) == (line, (value, 3))
    assert _C.finish(_C.resume(cast(types.FunctionType, ends), -5)) == 5


def test_a_thread_can_make_the_calls_itself() -> None:
    def first(x: int) -> Any:
        return resume(following, x)  # type: ignore[name-defined]  # noqa: F821  # it is there when it runs

    scope: dict[str, Any] = {"resume": _C.resume, "following": ends}
    code = first.__code__.replace(co_freevars=())
    function = replaced(types.FunctionType(original.__code__, scope), code)
    assert _C.leave_resume_calls(True) is False
    try:
        left = function(3)
    finally:
        assert _C.leave_resume_calls(False) is True
    assert type(left) is _C.ResumeCall
    assert (left.function, left.args) == (ends, (3,))
    assert function(3) == _C.finish(left) == 3


class Entered:
    """What a with statement takes, by its class and not by what the object itself has."""

    def __exit__(self, *of: object) -> str:
        return "left"


class Awaited:
    async def __aenter__(self) -> None: ...
    async def __aexit__(self, *of: object) -> None: ...


def refusal(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(TypeError) as caught:
        function(*args)
    return str(caught.value)


def enter(manager: Any) -> None:
    with manager:
        pass


def test_a_special_method_is_found_as_a_with_statement_finds_it() -> None:
    manager = Entered()
    vars(manager)["__exit__"] = print
    assert _C.load_special(manager, "__exit__")() == "left"
    for other in (object(), manager.__class__, Awaited()):
        said = refusal(_C.load_special, other, "__enter__")
        assert "(missed __enter__ method)" in said
        if sys.version_info >= (
            3,
            14,
        ):  # where that is an instruction of its own, of __exit__ first
            assert refusal(_C.load_special, other, "__exit__") == refusal(enter, other)
