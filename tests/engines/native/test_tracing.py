"""A trace function is told what it would be told without the engine: of the program's own lines."""

from __future__ import annotations

import io
import pdb
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
import torch

from stepper import _C, native
from stepper.native.explanation import Explanation
from stepper.native.watching import WATCHING
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

SEEN: list[tuple[str, str, int, str]] = []


def trace(frame: FrameType, event: str, argument: Any) -> Any:
    if frame.f_code.co_filename != __file__ or frame.f_code.co_name in (
        "events",
        "<lambda>",
        "begin",
    ):
        return None
    SEEN.append((event, frame.f_code.co_name, frame.f_lineno, type(argument).__name__))
    return trace


def events(call: Callable[[], Any], *, whole: bool) -> list[tuple[str, str, int, str]]:
    """What a trace function is told of this file's functions while `call` runs.

    whole: it is set from the beginning.
    """
    SEEN.clear()
    if whole:
        sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return list(SEEN)


def begin(value: Any = True) -> Any:
    """As `pdb.set_trace()` does."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame.f_trace = trace
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
    sys.settrace(trace)
    return value


def end() -> None:
    """Let nobody be told any more."""
    sys.settrace(None)


class Begins:
    """An object that begins in a special method."""

    def __bool__(self) -> bool:
        return bool(begin())

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        begin()
        raise StopIteration


def straight(x: torch.Tensor) -> Any:
    y = x + 1
    z = y * 2
    return z + x


def calls(x: torch.Tensor) -> Any:
    y = straight(x)
    for each in range(2):
        y = y + each
    return straight(y)


def broken(x: torch.Tensor) -> Any:
    y = x + 1
    if y.sum() > 0:
        y = y * 2
    return y


def in_the_middle(x: torch.Tensor) -> Any:
    y = x + 1
    begin()
    z = y * 2
    return z + x


def below_a_call(x: torch.Tensor) -> Any:
    y = x + 1
    z = torch.add(
        straight(y),
        begin(3),
    )
    return z + 1


def in_a_method_call(x: torch.Tensor) -> Any:
    y = x + 1
    z = y.add(begin(3)).mul(
        2,
    )
    return z + 1


def in_a_condition(x: torch.Tensor) -> Any:
    y = x + 1
    if THING:
        y = y * 2
        y = y + 1
    else:
        y = y * 3
    return y


def in_a_condition_of_data(x: torch.Tensor) -> Any:
    y = x + 1
    while y.sum() < 40:
        y = y * 2
        begin()
    return y


def in_a_loop(x: torch.Tensor) -> Any:
    y = x + 1
    for _ in THING:
        y = y * 2
    return y * 3


def in_a_closure(x: torch.Tensor) -> Any:
    y = x + 1

    def inner():
        return y * x

    begin()
    y = inner()
    return y + inner()


def in_a_handler(x: torch.Tensor) -> Any:
    y = x + 1
    nothing: dict[str, int] = {}
    try:
        begin()
        y = y * 2
        nothing["missing"]
    except KeyError:
        y = y * 3
    return y


def in_a_callee(x: torch.Tensor) -> Any:
    y = x + 1
    y = in_the_middle(y)
    return y * 2


def for_a_while(x: torch.Tensor) -> Any:
    y = x + 1
    begin()
    y = y * 2
    end()
    y = y * 3
    return broken(y)


def twice(x: torch.Tensor) -> Any:
    y = in_the_middle(x)
    end()
    y = y * 3
    begin()
    y = straight(y)
    return y * 2


THING = Begins()
WHOLE = [straight, calls, broken]
PARTS = [
    in_the_middle, below_a_call, in_a_method_call, in_a_condition, in_a_condition_of_data,
    in_a_loop, in_a_closure, in_a_handler, in_a_callee, for_a_while, twice,
]  # fmt: skip
X = torch.ones(3)


@pytest.mark.parametrize("program", WHOLE)
def test_a_call_that_is_traced_runs_the_programs_own_code(program: Any) -> None:
    captured = native.optimize(run_graph)(program)
    expected = events(lambda: program(X), whole=True)
    for _ in range(2):  # before anything has been captured, and afterwards
        assert events(lambda: captured(X), whole=True) == expected
        captured(X)
    assert len(native.export_guards(captured)) == 1


@pytest.mark.parametrize("program", PARTS)
def test_a_frame_that_is_traced_from_the_middle_goes_on_in_the_programs_own_code(
    program: Any,
) -> None:
    results: list[Any] = []
    expected_result = program(X)
    sys.settrace(None)
    expected = events(lambda: program(X), whole=False)
    before, explanation = WATCHING.explanation, Explanation()
    WATCHING.explanation = explanation
    try:
        captured = native.optimize(run_graph)(program)
        for _ in range(3):
            assert events(lambda: results.append(captured(X)), whole=False) == expected
            assert torch.equal(results.pop(), expected_result)
    finally:
        WATCHING.explanation = before
    assert explanation.op_count > 0


def test_what_is_traced_is_no_one_graph() -> None:
    captured = native.optimize(run_graph, nopython=True)(straight)
    captured(X)
    with pytest.raises(native.Unsupported, match=r"one graph.*sys\.settrace"):
        events(lambda: captured(X), whole=True)
    captured(X)


def test_the_tracer_is_not_told_of_the_translator() -> None:
    seen: set[str] = set()

    def everything(frame: FrameType, event: str, argument: Any) -> Any:
        seen.add(frame.f_code.co_filename)
        return everything

    captured = native.optimize(run_graph, nopython=True)(straight)
    sys.settrace(everything)
    try:
        with pytest.raises(native.Unsupported):
            captured(X)
    finally:
        sys.settrace(None)
    names = {name.rpartition("/")[2] for name in seen}
    assert "eval_frame.py" in names
    assert "convert_frame.py" not in names


def test_a_tracer_of_our_own_sees_what_really_runs() -> None:
    def own(frame: FrameType, event: str, argument: Any) -> Any:
        codes.add(frame.f_code)
        return None

    codes: set[Any] = set()
    captured = native.optimize(run_graph)(straight)
    captured(X)
    (entry,) = _C.code_cache(straight.__code__).entries
    _C.own_tracer(own.__code__)
    sys.settrace(own)
    try:
        captured(X)
    finally:
        sys.settrace(None)
    assert entry.code in codes
    assert straight.__code__ not in codes


def debugged(x: torch.Tensor) -> Any:
    y = x + 1
    DEBUGGER.set_trace()
    y = y * 2
    z = straight(y)
    return z + y


DEBUGGER: pdb.Pdb
# From Python 3.13 on the first stop is still in the line of set_trace().
COMMANDS = (
    "next\n" * (sys.version_info >= (3, 13))
    + "p y.sum()\nnext\nstep\nnext\nargs\nreturn\nnext\np z\n"
)


def transcript(call: Callable[[], Any]) -> str:
    """What pdb prints."""
    global DEBUGGER
    printed = io.StringIO()
    DEBUGGER = pdb.Pdb(
        stdin=io.StringIO(COMMANDS + "continue\n"), stdout=printed, nosigint=True, readrc=False
    )
    try:
        call()
    finally:
        sys.settrace(None)
    return printed.getvalue()


def test_pdb_steps_through_captured_code_as_through_the_programs() -> None:
    captured = native.optimize(run_graph)(debugged)
    expected = transcript(lambda: debugged(X))
    assert "z = straight(y)" in expected
    for _ in range(2):
        assert transcript(lambda: captured(X)) == expected
