"""What is interpreted in the place of Python's own functions does what they do, on this Python.

First each function is called as it is, beside what it stands for: it gives, raises and asks the
same, or refuses. Then the compiler captures the same calls.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
import torch

from stepper.native import polyfills
from stepper.native.polyfills import functions, iterators
from tests.engines.native import polyfill_cases as cases
from tests.engines.native import polyfill_objects as objects
from tests.engines.native.harness import check

NAMES = {**vars(cases), **vars(objects)}
TABLES = ("FUNCTIONS", "METHODS", "OPERATIONS", "ITERATORS", "CALLABLES")
"""Of the polyfills, and of their cases."""
INTERPRETED = {name for name in polyfills.__all__ if name.islower()} - {
    "given_by",
    "is_polyfill",
    "iterated_from",
}
"""What instructions and other builtins have interpreted. An iterator made anew is a real one."""

MISFIT = re.compile(r"_\w+(\.<locals>\.[<>\w]+)?\(\) (missing|takes|got)")


class Refused(Exception):
    """The compiler would leave the call to Python, or has nothing to do with it."""


def _refuse() -> None:
    raise Refused


def _sort_constants(values: Any, **options: Any) -> Any:
    if any(isinstance(each, objects.Num | objects.Says) for each in _flat(values)):
        raise Refused
    return sorted(values, **options)


def _flat(values: Any) -> Iterator[Any]:
    for each in values:
        yield from _flat(each) if type(each) in (list, tuple) else (each,)


class _Shared:
    """In the place of an iterator that `tee` makes."""

    __copy__ = None

    def __init__(self, *given: Any) -> None:
        self.values = iterators._sharing(*given)

    def __iter__(self) -> _Shared:
        return self

    def __next__(self) -> object:
        return next(self.values)


INSTEAD = (
    mock.patch.object(functions, "refuse", _refuse),
    mock.patch.object(iterators, "refuse", _refuse),
    mock.patch.object(functions, "sorted", _sort_constants, create=True),
    mock.patch.object(iterators, "_TEE", _Shared),
)
"""What the compiler does otherwise than Python, where a polyfill calls it."""


def _named(table: str, key: object) -> str:
    if isinstance(key, tuple):
        return "-".join(each.__name__ for each in key)
    return f"{table.lower()}-{getattr(key, '__name__', key)}"


def _rows() -> Iterator[Any]:
    for table in TABLES:
        for key, calls in getattr(cases, table).items():
            original, kind = key if isinstance(key, tuple) else (key, None)
            if table == "METHODS":
                kind = key.__objclass__
            stands_in = getattr(polyfills, table)[key]
            yield pytest.param(original, _of(kind, stands_in), calls, id=_named(table, key))
    for name, (original, calls) in cases.OTHERS.items():
        yield pytest.param(original, getattr(polyfills, name), calls, id=name)


def _of(kind: type | None, stands_in: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is asked where the first argument is of a class; None: of any."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not (args and isinstance(args[0], kind or object)):
            raise Refused
        return stands_in(*args, **kwargs)

    return stands_in if kind is None else call


def _rows_without_a_polyfill() -> Iterator[Any]:
    for key, calls in cases.WITH_SETS.items():
        yield pytest.param(key[0], None, calls, id=_named("OPERATIONS", key))
    for function, calls in cases.HANDLED.items():
        yield pytest.param(function, None, calls, id=_named("HANDLED", function))
    for kind, calls in cases.ARRANGED.items():
        yield pytest.param(kind, None, calls, id=_named("ITERATORS", kind))


EACH = pytest.mark.parametrize(("original", "stands_in", "calls"), [*_rows()])
CAPTURED = pytest.mark.parametrize(
    ("original", "stands_in", "calls"), [*_rows(), *_rows_without_a_polyfill()]
)


@pytest.mark.parametrize("table", TABLES)
def test_each_has_cases(table: str) -> None:
    assert getattr(cases, table).keys() == getattr(polyfills, table).keys()


def test_what_instructions_have_interpreted_has_cases() -> None:
    assert cases.OTHERS.keys() == INTERPRETED


@EACH
def test_does_what_it_stands_for(
    original: Callable[..., Any], stands_in: Callable[..., Any], calls: tuple[str, ...]
) -> None:
    differ: dict[str, Any] = {}
    followed = not calls
    for call in calls:
        expected = _outcome(call, original)
        assert expected[1] is not NameError, expected
        for given in (None, 0, 1, 2):
            got = _outcome(call, stands_in if given is None else _made_anew(stands_in, given))
            if any(each[0] == "hash" for each in objects.log if type(each) is tuple):
                continue  # no such object is a key for the compiler
            followed = followed or (got is not None and expected[0] != "raised")
            if got not in (expected, None):
                differ.setdefault(call, (got, expected))
    assert not differ, "\n".join(
        f"{call}: {got} for {want}" for call, (got, want) in differ.items()
    )
    assert followed, "nothing of it is followed"


@pytest.mark.evaluator_out
@CAPTURED
def test_is_captured_as_python_does_it(
    original: Callable[..., Any], stands_in: object, calls: tuple[str, ...]
) -> None:
    if original is objects.length_asked:
        original = list
    elif original in polyfills.METHODS:
        name = original.__name__
        original = lambda one, *args, **kwargs: getattr(one, name)(*args, **kwargs)
    differ = {}
    names = {**NAMES, "f": original}
    for call in calls:
        function = eval(f"lambda x: (log.clear(), {call}, [*log], x + 1)", names)
        try:
            explanation = check(function, torch.ones(1))
            assert "stepper's own" not in str(explanation)  # a reason is about the program
        except AssertionError as error:
            differ[call] = str(error).partition("\n")[0]
    assert not differ


def _outcome(call: str, function: Callable[..., Any]) -> Any:
    """What a call gives or raises, and what it asks; None: it was refused."""
    objects.log.clear()
    try:
        with contextlib.ExitStack() as stack:
            for each in INSTEAD:
                stack.enter_context(each)
            value = _shown(eval(call, {**NAMES, "f": function}))
    except Refused:
        return None
    except Exception as error:
        if _is_left_to_python(error):
            return None
        return "raised", type(error), str(error), repr(objects.log)
    return "gave", value, repr(objects.log)


def _is_left_to_python(error: Exception) -> bool:
    """Whether a polyfill has raised it, or is given what does not fit, and nothing it calls."""
    if MISFIT.match(str(error)) or "generator raised StopIteration" in str(error):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and polyfills.is_polyfill(last.tb_frame.f_code)


def _made_anew(stands_in: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The same, whose iterators are made anew after so many values, where the compiler can."""

    def relayed(values: Any) -> Iterator[Any]:
        for _ in range(count):
            try:
                yield next(values)
            except StopIteration:
                return
        made = polyfills.REMAKING.get(values.gi_code)
        if made is None or values.gi_frame is None or (count and not made.begun):
            yield from values
        else:
            held = values.gi_frame.f_locals
            rest: Any = made.function(*[held[name] for name in made.names])
            yield from rest

    def call(*args: Any, **kwargs: Any) -> Any:
        made = stands_in(*args, **kwargs)
        return relayed(made) if hasattr(made, "gi_code") else made

    return call


def _shown(value: Any) -> Any:
    """What can be compared of a value."""
    if type(value) in (list, tuple):
        return type(value)([_shown(each) for each in value])
    if isinstance(value, dict):
        return [type(value).__name__, [(_shown(key), _shown(each)) for key, each in value.items()]]
    if type(value) in (set, frozenset):
        return [type(value).__name__, sorted(map(repr, value))]
    if isinstance(value, torch.Tensor):
        return value.dtype, value.tolist()
    if hasattr(value, "__next__"):
        return "an iterator"
    return f"{type(value).__qualname__} " + re.sub(" at 0x[0-9a-f]+", "", repr(value))
