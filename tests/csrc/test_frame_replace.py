"""Other code in a frame's place: as if the function had been written so.

Every test runs twice: with the code put into the frame itself, and with a helper function called
instead, which is what happens where the frame cannot be changed.
"""

from __future__ import annotations

import gc
import inspect
import sys
import threading
import tracemalloc
import types
import weakref
from collections.abc import AsyncIterator, Callable, Generator
from functools import partial
from typing import Any

import pytest

from stepper import _C
from tests.csrc.programs import NAMES, PROGRAMS

pytestmark = pytest.mark.usefixtures("hook", "way")


def always(locals_: dict[str, Any], globals_: dict[str, Any]) -> bool:
    return True


def replaced(function: Any, other: Callable[..., Any] | types.CodeType) -> Callable[..., Any]:
    """A callable: the function, with the code of the other in place of its own."""
    code = other if isinstance(other, types.CodeType) else other.__code__
    entry = _C.CacheEntry(function.__code__, code, always)

    def callback(asked: types.CodeType, function: types.FunctionType, locals_: Any) -> Any:
        return entry if asked is entry.original else None

    def call(*args: Any, **kwargs: Any) -> Any:
        before = _C.set_frame_callback(callback)
        try:
            return function(*args, **kwargs)
        finally:
            _C.set_frame_callback(*before)

    return call


def test_the_other_code_runs_with_the_same_arguments() -> None:
    def original(a: int, b: int = 2, *, c: int = 3) -> Any:
        return "original"

    def other(a: int, b: int = 0, *, c: int = 0) -> Any:
        d = [a, b, c]
        return d, sorted(locals())

    call = replaced(original, other)
    assert call(1) == ([1, 2, 3], ["a", "b", "c", "d"])
    assert call(1, c=5, b=4) == ([1, 4, 5], ["a", "b", "c", "d"])
    assert original(1) == "original"
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        call()


def test_rest_arguments_keyword_only_arguments_and_their_order() -> None:
    def original(a: int, /, b: int, *rest: int, key: str, other: str = "o", **named: Any) -> Any:
        return "original"

    def new(a: int, /, b: int, *rest: int, key: str, other: str = "", **named: Any) -> Any:
        return a, b, rest, key, other, named

    call = replaced(original, new)
    expected = (1, 2, (3, 4), "k", "o", {"a": 5, "z": 6, "y": 7})
    assert call(1, 2, 3, 4, key="k", z=6, y=7, a=5) == expected
    assert list(call(1, 2, key="k", z=6, y=7)[-1]) == ["z", "y"]


def test_closures_and_cells() -> None:
    def make(start: int) -> tuple[types.FunctionType, types.FunctionType]:
        total = start

        def original(step: int) -> Any:
            nonlocal total
            total += step
            return lambda: (total, step)

        def other(step: int) -> Any:
            nonlocal total
            total -= step
            step = step * 10
            return lambda: (total, step)

        return original, other  # type: ignore[return-value]  # refused

    original, _ = make(100)
    _, other = make(0)
    # The original's cells, whatever function the other code comes from.
    assert replaced(original, other)(1)() == (99, 10)
    assert original(1)() == (100, 1)


def test_super_and_class_cells() -> None:
    class Base:
        def name(self) -> str:
            return "base"

    class Child(Base):
        def name(self) -> str:
            return "child"

        def other(self) -> str:
            return super().name() + " by " + __class__.__name__  # type: ignore[name-defined]  # it is there when it runs

    def with_cell(function: Callable[..., Any]) -> types.CodeType:
        assert function.__code__.co_freevars == ("__class__",)
        return function.__code__

    class Caller(Child):
        def name(self) -> str:
            return super().name()

    assert replaced(Caller.name, with_cell(Child.other))(Caller()) == "child by Caller"


def test_super_sees_star_arguments_as_they_are() -> None:
    class Base:
        def name(*args: Any) -> Any:
            return super().name()  # type: ignore[misc]  # bound by the class that it moves to

        def other(*args: Any) -> Any:
            return super().name(), 1  # type: ignore[misc]  # bound by the class that it moves to

    with pytest.raises(RuntimeError, match="no arguments"):
        replaced(Base.name, Base.other)(Base())


def test_defaults_builtins_and_globals_are_the_functions_own() -> None:
    def other(default: Any = None) -> Any:
        return default, marker, len([1])  # type: ignore[name-defined] # noqa: F821  # it is there when it runs

    builtins = {"len": lambda thing: "its own len"}
    globals_ = {"marker": "its own global", "__builtins__": builtins}

    def plain(default: Any = None) -> Any:
        return None

    original = types.FunctionType(plain.__code__, globals_, "original", ("its own default",))
    expected = ("its own default", "its own global", "its own len")
    assert replaced(original, other)() == expected


def test_recursion_goes_through_the_replacement_each_time() -> None:
    seen: list[int] = []

    def recurse(n: int) -> int:
        return recurse(n) if seen else 0

    def other(n: int) -> int:
        seen.append(n)
        return recurse(n - 1) + 1 if n else 0

    assert replaced(recurse, other)(200) == 200
    assert seen == list(range(200, -1, -1))


def test_endless_recursion_ends_in_an_exception() -> None:
    def recurse(n: int) -> int:
        return recurse(n)

    with pytest.raises(RecursionError):
        replaced(recurse, recurse.__code__.replace(co_name="other"))(0)


def test_exceptions_and_tracebacks_are_those_of_the_code_that_runs() -> None:
    def original(a: int) -> None:
        pass

    def other(a: int) -> None:
        text = "text"
        raise ValueError(text)

    with pytest.raises(ValueError, match="text") as caught:
        replaced(original, other)(1)
    last = caught.traceback[-1]
    assert last.name == "other"
    assert last.lineno == other.__code__.co_firstlineno + 1
    frame = caught.tb
    while frame.tb_next is not None:
        frame = frame.tb_next
    assert frame.tb_frame.f_code is other.__code__
    assert frame.tb_frame.f_locals == {"a": 1, "text": "text"}


def test_a_frame_kept_after_the_call_is_whole() -> None:
    def original(a: object) -> Any:
        return None

    def other(a: object) -> Any:
        b = [a]
        return b and sys._getframe()

    kept = object()
    frame = replaced(original, other)(kept)
    gc.collect()
    assert frame.f_locals == {"a": kept, "b": [kept]}
    assert frame.f_code is other.__code__
    assert inspect.getframeinfo(frame).function == "other"


def test_bigger_code_than_the_stacks_chunk_has_room_for() -> None:
    """At some depth, a frame is the last that fits into its chunk, and the new code does not."""
    names = [f"local{number}" for number in range(1500)]
    namespace: dict[str, Any] = {}
    body = "\n".join(f"    {name} = n" for name in names)
    exec(f"def other(n):\n{body}\n    return sum([{', '.join(names)}])", namespace)

    def original(n: int) -> int:
        return -1

    call = replaced(original, namespace["other"])

    def at_depth(depth: int) -> int:
        return at_depth(depth - 1) if depth else call(2)

    assert {at_depth(depth) for depth in range(0, 700, 7)} == {3000}


def test_arguments_die_when_the_code_lets_go_of_them() -> None:
    class Thing:
        pass

    def original(thing: object) -> Any:
        return None

    def other(thing: object) -> Any:
        reference = weakref.ref(thing)
        del thing
        return reference

    reference = replaced(original, other)(Thing())
    assert reference() is None


def test_generators_and_coroutines_are_left_alone() -> None:
    asked = []

    def generate(n: int) -> Generator[int, None, None]:
        yield n

    async def coroutine(n: int) -> int:
        return n

    async def both(n: int) -> AsyncIterator[int]:
        yield n

    def callback(code: types.CodeType, function: object, locals_: object) -> None:
        asked.append(code.co_name)

    _C.set_frame_callback(callback)
    list(generate(1))
    coroutine(1).close()
    both(1)
    _C.set_frame_callback(None)
    assert not {"generate", "coroutine", "both"} & set(asked)

    def plain(n: int) -> int:
        return n

    for function in (generate, coroutine, both):
        with pytest.raises(ValueError, match="ordinary function"):
            _C.CacheEntry(function.__code__, plain.__code__, always)
        with pytest.raises(ValueError, match="ordinary function"):
            _C.CacheEntry(plain.__code__, function.__code__, always)


def test_code_that_would_not_fit_is_refused() -> None:
    free = 1

    def original(a: int, b: int) -> int:
        return a

    for other in (
        lambda a: a,
        lambda a, *b: a,
        lambda a, *, b: a,
        lambda a, b, /: a,
        lambda a, b, c: a,
        lambda a, b, **c: a,
    ):
        with pytest.raises(ValueError, match="takes other arguments"):
            _C.CacheEntry(original.__code__, other.__code__, always)
    with pytest.raises(ValueError, match="other free variables"):
        _C.CacheEntry(original.__code__, (lambda a, b: free).__code__, always)
    with pytest.raises(ValueError, match="ordinary function"):
        _C.CacheEntry(original.__code__, compile("1", "module", "exec"), always)


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=NAMES)
def test_programs_replaced_by_copies_of_themselves_run_as_before(
    function: Any, arguments: tuple[Any, ...]
) -> None:
    """Each function that the program calls runs as a copy of its code, and what those call too."""
    entries: dict[types.CodeType, _C.CacheEntry] = {}
    expected = function(*arguments)

    def callback(code: types.CodeType, function: object, locals_: object) -> _C.CacheEntry | None:
        if code.co_filename != __file__ and "programs" not in code.co_filename:
            return None
        if code not in entries:
            entries[code] = _C.CacheEntry(code, code.replace(co_name="copy"), always)
            _C.code_cache(code).add(entries[code])
        return entries[code]

    before = _C.set_frame_callback(callback)
    try:
        results = [function(*arguments) for _ in range(3)]
    finally:
        _C.set_frame_callback(*before)
    assert results == [expected] * 3
    assert entries
    for code in entries:
        _C.code_cache(code).clear()


# --- asking what to run ---


def test_the_callback_is_asked_with_code_function_and_arguments() -> None:
    free = "free"
    asked = []

    def original(a: int, *rest: int, key: int = 1, **named: int) -> Any:
        def use() -> Any:
            return a, free

        return use()

    def callback(code: types.CodeType, function: Any, locals_: dict[str, Any]) -> None:
        asked.append((code, function, locals_))

    _C.set_frame_callback(callback)
    result = original(1, 2, key=3, four=4)
    _C.set_frame_callback(None)
    assert result == (1, "free")
    code, function, locals_ = asked[0]
    assert (code, function) == (original.__code__, original)
    assert locals_ == {"a": 1, "rest": (2,), "key": 3, "named": {"four": 4}, "free": "free"}
    assert [code.co_name for code, *_ in asked] == ["original", "use"]


def test_what_the_callback_raises_the_call_raises() -> None:
    def original(a: object) -> None:
        pytest.fail("it did run")

    class Thing:
        pass

    def callback(code: types.CodeType, function: object, locals_: object) -> None:
        raise LookupError("from the callback")

    thing = Thing()
    reference = weakref.ref(thing)
    _C.set_frame_callback(callback)
    try:
        original(thing)
    except LookupError as error:
        message = str(error)
    _C.set_frame_callback(None)
    assert message == "from the callback"
    del thing
    gc.collect()
    assert reference() is None


def _answers(answer: Any, *_: object) -> Any:
    return answer


def test_an_answer_that_is_no_entry_for_the_code_is_refused() -> None:
    def original() -> None:
        pass

    def another() -> None:
        pass

    foreign = _C.CacheEntry(another.__code__, another.__code__, always)
    messages = []
    for answer in (1, foreign):
        _C.set_frame_callback(partial(_answers, answer))
        try:
            original()
        except TypeError as error:
            messages.append(error)
        _C.set_frame_callback(None)
    assert len(messages) == 2
    assert all("frame callback" in str(message) for message in messages)
    with pytest.raises(TypeError, match="something to call"):
        _C.set_frame_callback(1)  # type: ignore[arg-type]  # refused


def test_what_the_callback_calls_is_not_asked_about() -> None:
    asked = []

    def helper() -> None:
        pass

    def original() -> None:
        helper()

    def callback(code: types.CodeType, function: object, locals_: object) -> None:
        helper()
        asked.append(code.co_name)

    _C.set_frame_callback(callback)
    original()
    _C.set_frame_callback(None)
    assert asked == ["original", "helper"]


def test_each_thread_has_its_own_callback() -> None:
    asked: dict[str, set[str]] = {"main": set(), "thread": set()}

    def original() -> None:
        pass

    def ask_for(name: str) -> Callable[..., None]:
        return lambda code, function, locals_: asked[name].add(code.co_name)

    def work() -> None:
        original()
        _C.set_frame_callback(ask_for("thread"), "backend")
        original()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "original" in asked["thread"]
    original()
    assert asked["main"] == set()
    before = _C.set_frame_callback(ask_for("main"))
    assert before == (None, None, False)
    _C.set_frame_callback(*before)


def test_a_thread_that_ends_drops_its_callback() -> None:
    class Callback:
        def __call__(self, code: object, function: object, locals_: object) -> None:
            pass

    callbacks = [Callback()]
    reference = weakref.ref(callbacks[0])

    def work() -> None:
        _C.set_frame_callback(callbacks.pop())
        assert reference() is not None

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    gc.collect()
    assert reference() is None


def test_skip_marks() -> None:
    asked = []

    def inner() -> None:
        pass

    def outer() -> None:
        inner()

    def callback(code: types.CodeType, function: object, locals_: object) -> None:
        asked.append(code.co_name)

    def calls() -> list[str]:
        asked.clear()
        before = _C.set_frame_callback(callback)
        try:
            outer()
        finally:
            _C.set_frame_callback(*before)
        return list(asked)

    assert _C.get_skip(outer.__code__) is None
    assert calls() == ["outer", "inner"]
    _C.set_skip(outer.__code__, "capture")
    assert calls() == ["inner"]
    _C.set_skip(outer.__code__, "frame")
    assert calls() == ["inner"]
    _C.set_skip(outer.__code__, "recursive")
    assert _C.get_skip(outer.__code__) == "recursive"
    assert calls() == []
    inner()
    _C.set_skip(outer.__code__, None)
    assert calls() == ["outer", "inner"]
    with pytest.raises(ValueError, match="no skip mark"):
        _C.set_skip(outer.__code__, "nonsense")  # type: ignore[arg-type]  # refused


def test_an_observer_hears_which_code_runs() -> None:
    def original() -> int:
        return 1

    def other() -> int:
        return 2

    told = []
    _C.set_observer(lambda code, tag: told.append((code, tag)))
    call = replaced(original, other)
    _C.watch(original.__code__, "original")
    assert call() == 2
    _C.unwatch(original.__code__)
    _C.watch(other.__code__, "other")
    assert call() == 2
    assert told == [(other.__code__, "original"), (other.__code__, "other")]


def test_nothing_grows_over_many_calls() -> None:
    def original(a: Any, *rest: Any, key: Any = None) -> Any:
        return lambda: (a, key)

    def other(a: Any, *rest: Any, key: Any = None) -> Any:
        if a is None:
            raise ValueError(a)
        return lambda: (a, key, rest)

    call = replaced(original, other)
    fails = replaced(original, lambda a, *rest, key=None: 1 // 0)

    def work() -> None:
        call(object(), object(), key=object())
        for failing, error in ((call, ValueError), (fails, ZeroDivisionError)):
            with pytest.raises(error):
                failing(None, 1)

    for _ in range(20):
        work()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.take_snapshot()
        counts = [sys.getrefcount(thing) for thing in (original, other, other.__code__, always)]
        for _ in range(300):
            work()
        gc.collect()
        after = [sys.getrefcount(thing) for thing in (original, other, other.__code__, always)]
        grown = sum(
            statistic.size_diff
            for statistic in tracemalloc.take_snapshot().compare_to(before, "filename")
            if "tracemalloc" not in statistic.traceback[0].filename
        )
    finally:
        tracemalloc.stop()
    assert after == counts
    assert grown < 300 * 16
