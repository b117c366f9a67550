"""Functions of which an attribute is replaced: their code, defaults, cells and the rest."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from tests.engines.native.replaced.running import (
    CASES,
    case,
    fresh,
)


def _function(x: torch.Tensor, by: Any = 2, *, plus: Any = 1) -> torch.Tensor:
    return x * by + plus


def _other(x: torch.Tensor, by: Any = 3, *, plus: Any = 4) -> torch.Tensor:
    return x / by - plus


def _of_a_function(attribute: str, *values: Any) -> None:
    def steps() -> Iterator[Any]:
        function = fresh(_function)
        function.__kwdefaults__ = {"plus": 1}
        yield lambda x: function(x)
        old = getattr(function, attribute)
        for value in values:
            setattr(function, attribute, value)
            yield
            setattr(function, attribute, old)
            yield

    CASES[f"function {attribute}"] = steps


_of_a_function("__code__", _other.__code__)
_of_a_function("__defaults__", (5,), (True,), (torch.ones(3), 6), (), None)
_of_a_function("__kwdefaults__", {"plus": 7}, {"plus": 1.0}, {"plus": 2, "more": 3}, {}, None)


@case
def function_keyword_default_changed_in_place() -> Iterator[Any]:
    function = fresh(_function)
    function.__kwdefaults__ = {"plus": 1}
    yield lambda x: function(x)
    function.__kwdefaults__["plus"] = 9
    yield
    del function.__kwdefaults__["plus"]
    yield


@case
def function_default_of_the_program() -> Iterator[Any]:
    def program(x: torch.Tensor, by: Any = 2, *, plus: Any = 1) -> torch.Tensor:
        return x * by + plus

    yield program
    program.__defaults__ = (3,)
    yield
    program.__kwdefaults__ = {"plus": 5}
    yield


@case
def function_code_of_the_program() -> Iterator[Any]:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def other(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    old = program.__code__
    yield program
    program.__code__ = other.__code__
    yield
    program.__code__ = old
    yield


@case
def function_default_that_is_mutable() -> Iterator[Any]:
    def function(x: Any, seen: Any = [1]) -> Any:  # as programs are written
        return x + len(seen) + seen[0]

    yield lambda x: function(x)
    function.__defaults__[0].append(2)
    yield
    function.__defaults__[0][0] = 7
    yield


@case
def function_attribute() -> Iterator[Any]:
    def function(x: Any) -> Any:
        return x + function.by + len(function.__dict__)

    function.by = 2
    yield lambda x: function(x)
    function.by = 3
    yield
    function.more = 3
    yield


@case
def function_name_and_documentation() -> Iterator[Any]:
    def function(x: Any) -> Any:
        """It."""

    names = ("__name__", "__qualname__", "__doc__", "__module__")
    yield lambda x: (x + 1, function.__name__, function.__qualname__, function.__doc__,
                     function.__module__)  # fmt: skip
    for name in names:
        setattr(function, name, "other")
        yield


@case
def function_wrapped() -> Iterator[Any]:
    def inner(x: Any) -> Any:
        return x + 1

    @functools.wraps(inner)
    def outer(x: Any) -> Any:
        return outer.__wrapped__(x) * 2

    yield lambda x: outer(x)
    outer.__wrapped__ = lambda x: x - 1
    yield


@case
def function_annotations() -> Iterator[Any]:
    def function(x: int) -> Any: ...

    yield lambda x: (x + 1, dict(function.__annotations__))
    function.__annotations__["x"] = float
    yield


@case
def function_closure_cell() -> Iterator[Any]:
    by: Any = 2

    def function(x: Any) -> Any:
        return x * by

    yield lambda x: function(x)
    for by in (3, 2.0, torch.ones(3), None, True):  # as programs are written
        yield


@case
def function_closure_cell_that_is_emptied() -> Iterator[Any]:
    by: Any = 2

    def function(x: Any) -> Any:
        return x * by

    cell = function.__closure__[0]
    yield lambda x: function(x)
    del cell.cell_contents
    yield
    cell.cell_contents = 4
    yield


@case
def function_in_a_cell() -> Iterator[Any]:
    functions = [lambda x: x + 1, lambda x: x - 1]
    function = functions[0]
    yield lambda x: function(x)
    function = functions[1]
    yield


@case
def bound_method_of_another_object() -> Iterator[Any]:
    class Thing:
        def __init__(self, by: int) -> None:
            self.by = by

        def method(self, x: Any) -> Any:
            return x * self.by

    call = Thing(2).method
    yield lambda x: call(x)
    call = Thing(3).method
    yield


@case
def partial_replaced() -> Iterator[Any]:
    call = functools.partial(_function, by=3)
    yield lambda x: call(x)
    call = functools.partial(_function, by=4)
    yield
    call = functools.partial(_other, by=4)
    yield
    call.keywords["by"] = 5
    yield
    call.__setstate__((_function, (), {"plus": 8}, {}))
    yield


@case
def cached_function() -> Iterator[Any]:
    number = [1]
    cached = functools.lru_cache(lambda key: number[0])
    yield lambda x: x + cached("key")
    number[0] = 2
    yield
    cached.cache_clear()
    yield


@case
def single_dispatch() -> Iterator[Any]:
    @functools.singledispatch
    def of(value: Any) -> Any:
        return 1

    yield lambda x: x + of(3) + of("text")
    of.register(int, lambda value: 5)
    yield
    of.register(object, lambda value: 6)
    yield


@case
def single_dispatch_of_a_tensor() -> Iterator[Any]:
    @functools.singledispatch
    def of(value: Any) -> Any:
        return 1

    yield lambda x: x + of(x)
    of.register(torch.Tensor, lambda value: value * 5)
    yield


class _Pair(NamedTuple):
    first: Any
    second: Any = 3


@case
def named_tuple_made_otherwise() -> Iterator[Any]:
    """`__new__` decides, and not what else the class says of its fields."""
    whole = vars(_Pair)["__new__"]
    new = whole.__func__
    defaults, code = new.__defaults__, new.__code__
    yield lambda x: (_Pair(x + 1), _Pair(x, 4), _Pair(second=1, first=x), _Pair(x).second)
    try:
        for value in ((4,), (1, 2), (torch.ones(3),), None):
            new.__defaults__ = value
            yield
        new.__defaults__ = defaults
        _Pair._field_defaults["second"] = 8
        yield
        new.__code__ = (lambda cls, first, second: [first, second]).__code__
        yield
        new.__code__ = code
        _Pair.__new__ = lambda cls, first, second=7: tuple.__new__(cls, (second, first))
        yield
    finally:
        _Pair.__new__ = whole
        new.__code__, new.__defaults__ = code, defaults
        _Pair._field_defaults["second"] = 3
    yield


@case
def function_signature() -> Iterator[Any]:
    def function(first: Any, second: Any = 3) -> Any: ...

    class Thing:
        def method(self, first: Any, second: Any = 3) -> Any: ...

    thing = Thing()
    yield lambda x: (x + 1, list(inspect.signature(function).parameters),
                     "second" in inspect.signature(thing.method).parameters)  # fmt: skip
    for each in (function, Thing.method):
        for name in ("__signature__", "__wrapped__"):
            setattr(each, name, inspect.Signature() if name == "__signature__" else lambda: 3)
            yield
            delattr(each, name)
            yield
    function.__code__ = (lambda only: only).__code__
    yield
