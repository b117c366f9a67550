"""The frame hook: who watches a code hears of its calls, and programs run as they do without it."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stepper import _C
from tests.csrc.programs import NAMES, PROGRAMS

pytestmark = pytest.mark.usefixtures("hook")


class Log:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []
        _C.set_observer(self.enter, self.leave)

    def enter(self, code: types.CodeType, tag: object) -> None:
        self.events.append(("enter", code.co_name, tag))

    def leave(self, code: types.CodeType, tag: object, raised: bool) -> None:
        self.events.append(("leave", code.co_name, tag, raised))


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=NAMES)
def test_programs_run_as_without_it(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    result = function(*arguments)
    Log()
    _C.watch(function.__code__)
    try:
        watched = function(*arguments)
    finally:
        _C.unwatch(function.__code__)
    _C.remove_hook()
    assert result == watched == function(*arguments)


def test_calls_of_watched_codes_are_told_and_no_others() -> None:
    log = Log()

    def inner(n: int) -> int:
        return 1 // n

    def outer(n: int) -> int:
        return inner(n)

    def unwatched(n: int) -> int:
        return outer(n)

    _C.watch(outer.__code__, "tag")
    _C.watch(inner.__code__)
    assert unwatched(1) == 1
    assert log.events == [
        ("enter", "outer", "tag"),
        ("enter", "inner", None),
        ("leave", "inner", None, False),
        ("leave", "outer", "tag", False),
    ]
    log.events.clear()
    with pytest.raises(ZeroDivisionError):
        unwatched(0)
    assert [event[-1] for event in log.events if event[0] == "leave"] == [True, True]
    assert _C.watched_calls(outer.__code__) == 2
    _C.unwatch(outer.__code__)
    _C.unwatch(inner.__code__)
    log.events.clear()
    unwatched(1)
    assert log.events == []
    assert _C.watched_calls(outer.__code__) == 2


def test_a_code_that_is_watched_inside_of_others_is_told_when_one_of_them_calls_it() -> None:
    log = Log()

    def inner() -> None:
        """Called by both."""

    def outer() -> None:
        inner()
        between()

    def between() -> None:
        inner()

    _C.watch(inner.__code__, "tag", inside=True)
    outer()
    inner()
    assert (log.events, _C.watched_calls(inner.__code__)) == ([], 0)
    _C.watch(outer.__code__)
    outer()
    called = [("enter", "inner", "tag"), ("leave", "inner", "tag", False)]
    assert log.events == [("enter", "outer", None), *called, ("leave", "outer", None, False)]
    log.events.clear()
    _C.watch(inner.__code__, "tag")
    inner()
    assert log.events == called


def test_the_observer_can_ask_what_the_code_is_called_with() -> None:
    free = ["free"]
    asked = []

    def function(a: int, *rest: int, key: str = "k") -> Any:
        in_cell = lambda: (a, free)  # as programs are written
        return in_cell()

    def enter(code: types.CodeType, tag: object) -> None:
        asked.append(_C.entering_call())

    _C.set_observer(enter)
    _C.watch(function.__code__)
    function(1, 2, 3)
    assert asked == [({"a": 1, "rest": (2, 3), "key": "k", "free": free}, globals())]
    with pytest.raises(RuntimeError, match="being entered"):
        _C.entering_call()


def test_the_end_of_a_call_is_not_told_to_who_does_not_want_it() -> None:
    told = []

    def function(wanted: bool) -> bool:
        return wanted

    def enter(code: types.CodeType, tag: object) -> bool:
        wanted: bool = _C.entering_call()[0]["wanted"]
        return wanted

    _C.set_observer(enter, lambda code, tag, raised: told.append(raised))
    _C.watch(function.__code__)
    for wanted in (False, True, False):
        function(wanted)
    _C.set_observer(None)
    assert told == [False]


def test_calls_are_counted_once_whoever_hears_of_them() -> None:
    def function() -> None:
        pass

    _C.set_observer(lambda code, tag: None)
    _C.watch(function.__code__)
    for _ in range(10):
        function()
    assert _C.watched_calls(function.__code__) == 10
    _C.unwatch(function.__code__)
    _C.set_observer(None)
    _C.watch(function.__code__)
    assert _C.watched_calls(function.__code__) == 0
    function()
    _C.count_call(function.__code__)
    assert _C.watched_calls(function.__code__) == 1
    _C.unwatch(function.__code__)


def test_a_generator_is_seen_when_it_is_called_and_not_when_it_is_resumed() -> None:
    log = Log()

    def numbers() -> Iterator[int]:
        yield 1
        yield 2

    _C.watch(numbers.__code__)
    assert list(numbers()) == [1, 2]
    assert [event[0] for event in log.events] == ["enter", "leave"]


def test_what_the_observer_does_is_not_observed_and_what_it_raises_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda report: reported.append(str(report.exc_value))
    )

    def function() -> str:
        return "result"

    def enter(code: types.CodeType, tag: object) -> None:
        function()
        raise LookupError("of the observer")

    _C.set_observer(enter)
    _C.watch(function.__code__)
    assert function() == "result"
    assert _C.watched_calls(function.__code__) == 1
    assert reported == ["of the observer"]
    _C.unwatch(function.__code__)


def test_an_exception_passes_through_with_its_traceback_unchanged() -> None:
    def inner() -> None:
        raise ValueError("text")

    def outer() -> None:
        inner()

    def lines(error: BaseException) -> list[tuple[str, int | None]]:
        found: list[tuple[str, int | None]] = []
        traceback = error.__traceback__
        while traceback is not None:
            found.append((traceback.tb_frame.f_code.co_name, traceback.tb_lineno))
            traceback = traceback.tb_next
        return found[1:]

    Log()
    for code in (inner.__code__, outer.__code__):
        _C.watch(code)
    with pytest.raises(ValueError, match="text") as watched:
        outer()
    _C.remove_hook()
    with pytest.raises(ValueError, match="text") as plain:
        outer()
    assert lines(watched.value) == lines(plain.value)
    assert [name for name, _ in lines(plain.value)] == ["outer", "inner"]


def test_the_observer_may_unwatch_the_code_and_take_itself_away() -> None:
    def function() -> int:
        return 3

    def enter(code: types.CodeType, tag: object) -> None:
        _C.unwatch(code)
        _C.set_observer(None)

    _C.set_observer(enter, lambda code, tag, raised: pytest.fail("it was taken away"))
    _C.watch(function.__code__, object())
    assert function() == 3


def test_threads_are_observed_each_by_itself() -> None:
    log = Log()

    def function(n: int) -> int:
        return n

    _C.watch(function.__code__)
    results: list[int] = []

    def work() -> None:
        results.extend(function(n) for n in range(500))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2000
    assert _C.watched_calls(function.__code__) == 2000
    assert len(log.events) == 4000
    _C.unwatch(function.__code__)


def test_what_is_known_about_a_code_goes_with_it() -> None:
    class Tag:
        pass

    def make() -> Callable[[], None]:
        namespace: dict[str, Any] = {}
        exec("def function(): pass", namespace)
        return namespace["function"]

    function = make()
    tag = Tag()
    gone = weakref.ref(tag)
    _C.watch(function.__code__, tag)
    del tag
    assert gone() is not None
    del function
    gc.collect()
    assert gone() is None


def test_installing_and_removing_twice_is_once() -> None:
    assert _C.hook_installed()
    _C.install_hook()
    _C.remove_hook()
    assert not _C.hook_installed()
    _C.remove_hook()


RECURSION = """
import sys
from stepper import _C

def depth(n):
    try:
        return depth(n + 1)
    except RecursionError:
        return n

before = depth(0)
_C.install_hook()
_C.watch(depth.__code__)
_C.set_observer(lambda code, tag: None)
print(before, depth(0))
_C.set_observer(None)
sys.setrecursionlimit(10_000_000)
print(depth(0) > 3000)

import threading
threading.stack_size(1 << 20)
found = []
thread = threading.Thread(target=lambda: found.append(depth(0)))
thread.start()
thread.join()
print(found[0] > 300)
"""


def test_recursion_is_as_deep_as_without_it_and_ends_in_an_exception() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RECURSION)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    depths, deep, in_thread = done.stdout.splitlines()
    before, hooked = map(int, depths.split())
    # The observer, called at the very end, needs a few levels itself.
    assert before - 8 <= hooked <= before
    assert (deep, in_thread) == ("True", "True")


@pytest.mark.parametrize("call", [_C.watch, _C.unwatch, _C.watched_calls])
def test_what_is_no_code_is_refused(call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError):
        call(len)
