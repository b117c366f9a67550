"""What a program could tell apart: random numbers, identities, lifetimes, tracebacks."""

from __future__ import annotations

import gc
import inspect
import linecache
import sys
import threading
import traceback
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._dynamo

from stepper import native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out


def test_all_names_of_the_question_whether_it_is_captured_get_dynamos_answer() -> None:
    def ask(x: torch.Tensor) -> Any:
        return (
            x * 2,
            torch.compiler.is_compiling(),
            torch._dynamo.is_compiling(),
            torch.compiler.is_dynamo_compiling(),
        )

    captured = native.optimize(run_graph, nopython=True)(ask)
    compiled = torch.compile(ask, backend="eager", fullgraph=True)
    assert captured(torch.ones(2))[1:] == compiled(torch.ones(2))[1:] == (True, True, True)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_graph_that_raises_draws_no_random_numbers_twice(seed: int) -> None:
    def draws(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        noise = torch.rand(3) + torch.nn.functional.dropout(x, 0.5)
        return noise + x[index]

    captured = native.optimize(run_graph)(draws)
    captured(torch.ones(3), torch.tensor([0]))
    after = []
    for function in (draws, captured):
        torch.manual_seed(seed)
        with pytest.raises(IndexError):
            function(torch.ones(3), torch.tensor([7]))
        after.append(torch.rand(4))
    assert torch.equal(*after)


def returns_a_tuple_twice(x: torch.Tensor) -> Any:
    pair = (x + 1, x)
    return pair, [pair]


def returns_a_function_twice(x: torch.Tensor) -> Any:
    inner = lambda: x  # as programs are written
    return inner, (inner, x + 1)


def breaks_with_a_tuple_on_two_paths(x: torch.Tensor) -> Any:
    pair = (x + 1, [x])
    holder = {"pair": pair}
    print(end="")
    return pair, [holder["pair"]]


def returns_a_slice_twice(x: torch.Tensor) -> Any:
    pair = (x + 1, x)
    part = pair[:]
    return pair, [part]


@pytest.mark.parametrize(
    "function",
    [
        returns_a_tuple_twice,
        returns_a_function_twice,
        breaks_with_a_tuple_on_two_paths,
        returns_a_slice_twice,
    ],
)
def test_what_is_reached_by_two_paths_is_one_object(function: Any) -> None:
    explanation = check(function, torch.ones(2))
    assert explanation.graph_count
    first, (second, *_) = native.optimize(run_graph)(function)(torch.ones(2))
    assert first is second


def test_a_constant_of_the_code_is_the_same_object_in_each_call() -> None:
    def constant(x: torch.Tensor) -> Any:
        return x + 1, ("a", (1, 2))

    captured = native.optimize(run_graph)(constant)
    assert captured(torch.ones(2))[1] is captured(torch.ones(3))[1] is constant(torch.ones(2))[1]


class Token:
    """Something to refer to weakly."""


def lets_go_of_an_argument(x: torch.Tensor, token: Any) -> Any:
    y = x + 1
    found = weakref.ref(token.pop())
    gone = [found() is None]
    print(end="")
    return y, gone


def rebinds_a_variable(x: torch.Tensor, holder: list[Any]) -> Any:
    token = holder.pop()
    y = x + 1
    found = weakref.ref(token)
    alive = [found() is None]
    token = None
    alive.append(found() is None)
    return y, alive


def keeps_a_variable_that_is_not_read_again(x: torch.Tensor, holder: list[Any]) -> Any:
    token = holder.pop()
    y = x + 1
    found = weakref.ref(token)
    gc.collect()
    return y, found() is None


def forgets_a_tensor(x: torch.Tensor, holder: list[Any]) -> Any:
    y = x + 1
    found = weakref.ref(y)
    z = y * 2
    y = z
    print(end="")
    return z, found() is None


def callee(found: Any) -> bool:
    return found() is None


def forgets_before_a_call(x: torch.Tensor, holder: list[Any]) -> Any:
    token = holder.pop()
    found = weakref.ref(token)
    y = x + 1
    token = y
    return callee(found), print(end=""), y


@pytest.mark.parametrize(
    "function",
    [
        lets_go_of_an_argument,
        rebinds_a_variable,
        keeps_a_variable_that_is_not_read_again,
        forgets_a_tensor,
        forgets_before_a_call,
    ],
)
def test_objects_live_as_long_as_in_eager(function: Any) -> None:
    captured = native.optimize(run_graph)(function)
    expected = function(torch.ones(2), [Token()])[1]
    for _ in range(3):
        assert captured(torch.ones(2), [Token()])[1] == expected
    assert native.explain(function)(torch.ones(2), [Token()]).breaks


def test_a_frame_object_keeps_nothing_of_a_frame_that_went_on() -> None:
    def made() -> Token:
        sys._getframe(1)  # from now on there is a frame object
        return Token()

    def f(x: torch.Tensor) -> Any:
        y = x + 1
        found = weakref.ref(made())
        return y, found() is None

    captured = native.optimize(run_graph)(f)
    assert [captured(torch.ones(2))[1] for _ in range(3)] == [True] * 3


def keeps_its_frame(x: torch.Tensor, keep: Any) -> Any:
    y = x + 1
    keep()
    if len(x) > 1:
        return y
    return y - 1


@pytest.mark.parametrize(("length", "offset"), [(2, 4), (1, 5)])
def test_a_frame_that_is_kept_says_where_its_function_ended(length: int, offset: int) -> None:
    frames: list[Any] = []
    captured = native.optimize(run_graph)(keeps_its_frame)

    def keep() -> None:
        frames.append(sys._getframe(1))

    for _ in range(2):  # captures, and is served from the cache
        captured(torch.ones(length), keep)
    first = keeps_its_frame.__code__.co_firstlineno
    assert [frame.f_lineno - first for frame in frames] == [offset] * 2
    assert native.explain(keeps_its_frame)(torch.ones(2), keep).breaks


def test_who_counts_the_objects_of_the_process_finds_no_more() -> None:
    def counts() -> int:
        x = torch.ones(2)
        before = len(gc.get_objects())
        calls(x)
        return len(gc.get_objects()) - before

    def calls(x: torch.Tensor) -> None:
        x + 1  # captured, if it were called by anybody else

    gc.collect()
    gc.disable()  # what other tests have left may be let go of in between
    try:
        for _ in range(3):  # what happens only once has happened
            expected = counts()
        with native.optimize(run_graph):
            assert counts() == expected
    finally:
        gc.enable()


def test_no_garbage_is_collected_while_a_frame_is_looked_at() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) + 1

    asked = []
    captured = native.optimize(run_graph)(f)
    before = gc.get_threshold()
    gc.callbacks.append(lambda phase, info: asked.append(phase))
    gc.set_threshold(5, 1, 1)
    try:
        captured(torch.ones(2))
    finally:
        gc.callbacks.pop()
        gc.set_threshold(*before)
    assert len(asked) < 100
    assert gc.isenabled()


def test_callable() -> None:
    def f(x: torch.Tensor) -> Any:
        several: tuple[Any, ...] = (None, 1, "a", len, Token, Token(), f, [])
        return x + 1, [callable(each) for each in several]

    assert check(f, torch.ones(1)).breaks == []


def test_keywords_that_are_no_strings_are_refused() -> None:
    def f(x: torch.Tensor, given: dict[Any, Any]) -> Any:
        return x + 1, dict(**given)

    check(f, torch.ones(1), {1: 2})


def test_a_program_with_a_len_of_its_own_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    this = threading.get_ident()

    def counting(value: Any) -> int:
        if threading.get_ident() == this:  # tests have other threads, which ask it, too
            asked.append(value)
        return sum(1 for _ in value)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + len([1, 2])

    captured = native.optimize(run_graph)(f)
    monkeypatch.setattr("builtins.len", counting)
    result = captured(torch.zeros(1))
    monkeypatch.undo()
    assert (result.item(), asked) == (2, [[1, 2]])
    assert native.explain(f)(torch.zeros(1)).graph_count == 1


def fails_after_breaks(x: torch.Tensor) -> Any:
    y = x + 1
    print(end="")
    y = y * 2
    print(end="")
    return fails(y)


def fails(y: torch.Tensor) -> Any:
    z = y + 1
    print(end="")
    raise ValueError(z.shape)


def test_a_traceback_has_one_entry_for_each_function() -> None:
    found = []
    for function in (fails_after_breaks, native.optimize(run_graph)(fails_after_breaks)):
        with pytest.raises(ValueError, match="2") as raised:
            function(torch.ones(2))
        entries = traceback.extract_tb(raised.value.__traceback__)
        found.append([(each.name, each.lineno, each.line) for each in entries[-2:]])
        assert sum(each.filename == __file__ for each in entries) == 3
    assert found[0] == found[1]


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_capture_reads_no_files_into_linecache(dynamic: bool | None) -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        read.append(sorted(name for name in linecache.cache if not name.startswith("<")))
        return x.view(-1) * x.shape[0] if x.shape[0] > 2 else x

    read: list[list[str]] = []
    captured = native.optimize(run_graph, dynamic=dynamic)(scaled)
    linecache.clearcache()
    for size in (3, 4, 5):
        captured(torch.ones(size, 2))
    assert [name for name in linecache.cache if not name.startswith("<")] == []
    linecache.getline(__file__, 1)
    captured(torch.ones(1, 1))
    assert [name for name in linecache.cache if not name.startswith("<")] == [__file__]
    assert read == [[], [], [], [__file__]]


def misspelt(given: int, other: int) -> Any:
    blach = None  # noqa: F841  # names that a message goes by
    bluc = None  # noqa: F841  # names that a message goes by
    return bluch  # type: ignore[name-defined]  # noqa: F821  # it is there when it runs


def shows_variables(x: torch.Tensor, given: int, other: int) -> Any:
    a = 1  # noqa: F841  # names that a message goes by
    b = 2  # noqa: F841  # names that a message goes by
    return x + 1, variables_of_caller()


def variables_of_caller() -> list[str]:
    frame = sys._getframe(1)
    while frame.f_code.co_name != "shows_variables":
        assert frame.f_back is not None
        frame = frame.f_back
    return sorted(
        f"{name} = {value}" for name, value in frame.f_locals.items() if type(value) is int
    )


def test_a_frame_has_its_arguments_and_constants_after_a_break() -> None:
    expected = ["a = 1", "b = 2", "given = 7", "other = 8"]
    assert shows_variables(torch.ones(2), 7, 8)[1] == expected
    captured = native.optimize(run_graph)(shows_variables)
    for _ in range(2):
        assert captured(torch.ones(2), 7, 8)[1] == expected
    assert native.explain(shows_variables)(torch.ones(2), 7, 8).breaks


def test_variables_have_the_programs_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native.config, "capture_everything", True)
    names: list[tuple[str, ...]] = []
    remove = native.register_bytecode_hook(lambda old, new: names.append(new.co_varnames))
    captured = native.optimize(run_graph)(misspelt)
    with pytest.raises(NameError):
        captured(1, 2)
    remove()
    assert [each for each in names[0] if not each.startswith("___")] == [
        "given",
        "other",
        "blach",
        "bluc",
    ]


def gives_up(x: torch.Tensor, make: Any) -> Any:
    token = make()
    found = weakref.ref(token)
    y = x + 1
    print(end="")
    token.__reduce_ex__(2)
    return y, found


def gives_up_with_a_closure(x: torch.Tensor, make: Any) -> Any:
    token = make()
    found = weakref.ref(token)
    y = x + 1
    print(end="")

    def inner() -> Any:
        yield token

    for _ in inner():
        pass
    return y, found


@pytest.mark.parametrize("function", [gives_up, gives_up_with_a_closure])
def test_what_a_resume_function_that_is_given_up_had_dies_with_it(function: Any) -> None:
    captured = native.optimize(run_graph)(function)
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            assert captured(torch.ones(2), Token)[1]() is None
    finally:
        gc.enable()


def names_of_the_caller(*args: Any) -> list[str]:
    return sorted(sys._getframe(1).f_locals)


def calls_in_a_tuple(x: torch.Tensor) -> Any:
    return (x + 1, [x * 2], names_of_the_caller(x))


def calls_in_an_operand(x: torch.Tensor) -> Any:
    return (x + 1) * 2 + len(names_of_the_caller()), x.sum() * len(names_of_the_caller(1, 2))


def calls_as_an_argument(x: torch.Tensor) -> Any:
    return max(1, *[len(names_of_the_caller(x + 1))], *names_of_the_caller()[:0]), x + 2


def calls_in_a_condition(x: torch.Tensor) -> Any:
    return x + (1 if x.sum() > len(names_of_the_caller(x)) else 2), names_of_the_caller()


def calls_in_a_loop(x: torch.Tensor) -> Any:
    for each in iter([1, 2, 3]):
        x = x * each + len(names_of_the_caller(each))
    return x


@pytest.mark.parametrize(
    "function",
    [
        calls_in_a_tuple,
        calls_in_an_operand,
        calls_as_an_argument,
        calls_in_a_condition,
        calls_in_a_loop,
    ],
)
def test_a_callee_sees_no_variable_of_ours_in_its_callers_frame(function: Any) -> None:
    seen: list[str] = []
    captured = native.optimize(run_graph)(function)
    own = set(function.__code__.co_varnames)
    with pytest.MonkeyPatch.context() as patch:
        look = names_of_the_caller

        def looks(*args: Any) -> list[str]:
            found = sorted(sys._getframe(1).f_locals)
            seen.extend(found)
            return [name for name in found if name not in own]

        patch.setitem(globals(), "names_of_the_caller", looks)
        results = [captured(torch.ones(2)) for _ in range(2)]
        assert set(seen) <= own
        assert str(results[0]) == str(results[1]) == str(function(torch.ones(2)))
    assert names_of_the_caller is look


def test_a_tensor_that_was_pickled_changes_nothing_of_what_is_captured() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    x = torch.ones(2)
    x.__getstate__()  # Python notes in the class what it looked up
    assert "__slotnames__" in vars(torch.Tensor)
    assert native.optimize(run_graph, nopython=True)(double)(x).tolist() == [2.0, 2.0]


class Listed(list[int]):
    pass


class Misnamed:
    __match_args__: Any = (None,)
    a = "a"


def _raised(function: Callable[[], object]) -> object:
    try:
        return function()
    except (AttributeError, TypeError, ValueError) as error:
        return type(error)


def _held_and_changed(x: torch.Tensor) -> Any:
    inner, by_key = [1], {"k": 0}
    held: Any = [inner, (by_key,)]
    inner.append(2)
    by_key["k"] = 3
    held.append(held)
    return x + 1, str(held), f"{held[:2]}", held[1] == ({"k": 3},)


def _changed_by_its_iterator(x: torch.Tensor) -> Any:
    items = [1]
    items.extend(items.append(5) or each for each in (1, 2))
    return x + 1, items


def _refused_by_python(x: torch.Tensor) -> Any:
    def keywords() -> object:
        kind: Any = Listed
        return kind(sequence=())

    def name() -> object:
        match Misnamed():
            case Misnamed(y):
                return y
        return None

    def keys() -> object:
        match {"a": 0}:
            case {Misnamed.a: first, "a": second}:
                return first, second
        return None

    return x + 1, [_raised(each) for each in (keywords, name, keys)]


def _one_object(x: torch.Tensor) -> Any:
    kind: Any = Listed
    names = ("__lt__", "__getattribute__")
    return x + 1, [getattr(kind, each) is getattr(object, each) for each in names]


def _emptied_step_by_step(x: torch.Tensor) -> Any:
    made = {str(i): x for i in range(99)}
    for i in range(98):
        del made[str(i)]
    before = sys.getsizeof(made)
    made["a"] = made.popitem()[1]
    return x + 1, before, sys.getsizeof(made), made


class Logged:
    def __getattribute__(self, name: str) -> Any:
        notes.append(name)
        return object.__getattribute__(self, name)


notes: list[str] = []


def _read_by_ones_own_method(x: torch.Tensor) -> Any:
    notes.clear()
    logged = Logged()
    logged.value = x  # type: ignore[attr-defined]  # it is stored here
    return logged.value + 1, list(notes)


HAS_FGET: Any = property(len)


def _what_c_keeps(x: torch.Tensor) -> Any:
    def stored() -> None:
        HAS_FGET.fget = x

    return x + 1, _raised(stored)


class Once:
    def __new__(cls, *args: Any) -> Once:
        return super().__new__(cls)

    def __init__(self, *args: Any) -> None:
        self.args = args


del Once.__new__  # which a class remembers


def _no_longer_made_like_that(x: torch.Tensor) -> Any:
    return x + 1, _raised(lambda: Once(x))


class Unnamed(type):
    @property
    def __module__(cls) -> str:  # type: ignore[override]  # a class can say anything
        raise AttributeError


class OfNoModule(metaclass=Unnamed):
    pass


def _of_no_module(x: torch.Tensor) -> Any:
    return x + 1, isinstance(OfNoModule, Unnamed), hasattr(OfNoModule, "__module__")


class StandIn:
    def __init__(self, behind: object) -> None:
        self._behind = behind

    def __getattribute__(self, name: str) -> Any:
        behind = object.__getattribute__(self, "_behind")
        return behind if name == "_behind" else getattr(behind, name)


def _stands_in(x: torch.Tensor) -> Any:
    return x + 1, [isinstance(StandIn(3), kind) for kind in (StandIn, int, str)]


def _says_more_than_its_class(x: torch.Tensor) -> Any:
    return x + 1, getattr(int | str, "__module__", None), hasattr(3, "__module__")


class Wrapper:
    __wrapped__ = 3


def _unwrapped(x: torch.Tensor) -> Any:
    return x + 1, inspect.unwrap(Wrapper), inspect.unwrap(Wrapper())  # type: ignore[arg-type]  # any is taken


def _named_like_changes(x: torch.Tensor) -> Any:
    held: Any = types.SimpleNamespace()
    changed: tuple[Any, ...] = (held, StandIn(held), _LASTING)
    for each in changed:
        each.next, each.contents, each.steps = x + 1, 2, 3
    return x, held.next, held.contents, vars(_LASTING)


_LASTING = types.SimpleNamespace()


def _recursive(x: torch.Tensor) -> Any:
    def deeper() -> None:
        deeper()

    try:
        deeper()
    except RecursionError as error:
        return x + 1, {frame.filename for frame in traceback.extract_tb(error.__traceback__)}


@pytest.mark.parametrize(
    "function",
    [
        _held_and_changed, _changed_by_its_iterator, _refused_by_python, _one_object,
        _emptied_step_by_step, _read_by_ones_own_method, _what_c_keeps, _no_longer_made_like_that,
        _of_no_module, _stands_in, _says_more_than_its_class, _named_like_changes, _recursive,
        _unwrapped,
    ],
)  # fmt: skip
def test_what_pythons_own_tests_have_found(function: Any) -> None:
    expected = function(torch.ones(2))
    assert str(native.optimize("eager")(function)(torch.ones(2))) == str(expected)


def lets_none_go(x: Any, spare: Any, found: Any) -> Any:
    del spare
    return x + 1, found() is None


def test_nothing_but_none_is_let_go_before_a_weak_reference_is_called() -> None:
    class Thing:
        pass

    captured = native.optimize(run_graph)(lets_none_go)
    kept = Thing()
    for spare in (None, kept, None):
        assert captured(torch.ones(1), spare, weakref.ref(kept)) == (torch.full((1,), 2.0), False)
    assert any("L['spare']" in each for each in native.export_guards(lets_none_go))
