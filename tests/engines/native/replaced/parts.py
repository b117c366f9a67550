"""Every part of a function, replaced in place, however the program comes by the function.

A case is a pair of a way and a part. The program calls the function with as few arguments as it
takes, and with more.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tests.engines.native.replaced.running import Case, fresh

Way = Callable[[Any], Any]
"""Given a function of a tensor, a program that calls it."""

WAYS: dict[str, Way] = {}
METHODS = set[str]()
"""Ways of which the function has `self`, or the class, before the tensor."""


def way(name: str, method: bool = False) -> Callable[[Way], Way]:
    """The decorated function makes the program."""

    def add(make: Way) -> Way:
        WAYS[name] = make
        if method:
            METHODS.add(name)
        return make

    return add


SHIFT = 5
"""A global variable that functions read."""


def _function() -> Any:
    shift = 7

    def function(x: Any, by: Any = 2, other: Any = 3, *, plus: Any = 1) -> Any:
        return x * by - other + plus * SHIFT + shift

    function.__kwdefaults__ = {"plus": 1}
    return fresh(function)


def _method() -> Any:
    shift = 7

    def method(self: Any, x: Any, by: Any = 2, other: Any = 3, *, plus: Any = 1) -> Any:
        return x * by - other + plus * SHIFT + shift

    method.__kwdefaults__ = {"plus": 1}
    return fresh(method)


def calls(function: Any, x: Any) -> Any:
    """What programs do with what they call."""
    return function(x), function(x, 4), function(x, other=6), function(x, 4, 5, plus=6)


way("closure")(lambda function: lambda x: calls(function, x))
way("partial")(lambda function: lambda x: functools.partial(function)(x, 4))


@way("global")
def _global(function: Any) -> Any:
    def program(x: Any) -> Any:
        return calls(function_of_the_module, x)  # noqa: F821  # it is there when it runs

    names = {"function_of_the_module": function, "calls": calls}
    return types.FunctionType(program.__code__.replace(), names)


@way("list")
def _list(function: Any) -> Any:
    held = [function]
    return lambda x: [calls(each, x) for each in held]


@way("dictionary")
def _dictionary(function: Any) -> Any:
    held = {"a": function}
    return lambda x: calls(held["a"], x)


@way("partial that exists")
def _partial(function: Any) -> Any:
    held = functools.partial(function, other=8)
    return lambda x: (held(x), held(x, 4))


@way("wrapper")
def _wrapper(function: Any) -> Any:
    @functools.wraps(function)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return lambda x: calls(outer, x)


@way("default")
def _default(function: Any) -> Any:
    def inner(x: Any, call: Any = function) -> Any:
        return calls(call, x)

    return lambda x: inner(x)


@way("attribute")
def _attribute(function: Any) -> Any:
    thing = types.SimpleNamespace(call=function)
    return lambda x: calls(thing.call, x)


@way("module of Python")
def _module(function: Any) -> Any:
    module = types.ModuleType("made")
    module.function = function
    return lambda x: calls(module.function, x)


@way("static method")
def _static(function: Any) -> Any:
    thing = type("Thing", (), {"call": staticmethod(function)})()
    return lambda x: calls(thing.call, x)


@way("static method of a class")
def _static_of_class(function: Any) -> Any:
    cls = type("Thing", (), {"call": staticmethod(function)})
    return lambda x: calls(cls.call, x)


@way("method", method=True)
def _of_object(function: Any) -> Any:
    thing = type("Thing", (), {"call": function})()
    return lambda x: calls(thing.call, x)


@way("bound method", method=True)
def _bound(function: Any) -> Any:
    call = type("Thing", (), {"call": function})().call
    return lambda x: calls(call, x)


@way("method of a base", method=True)
def _of_base(function: Any) -> Any:
    class Thing(type("Base", (), {"call": function})):
        def call(self, *args: Any, **kwargs: Any) -> Any:
            return super().call(*args, **kwargs)

    thing = Thing()
    return lambda x: calls(thing.call, x)


@way("class method", method=True)
def _of_class(function: Any) -> Any:
    thing = type("Thing", (), {"call": classmethod(function)})()
    return lambda x: calls(thing.call, x)


@way("call of an object", method=True)
def _call(function: Any) -> Any:
    thing = type("Thing", (), {"__call__": function})()
    return lambda x: calls(thing, x)


@way("initializer", method=True)
def _initializer(function: Any) -> Any:
    class Base:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.result = function(self, *args, **kwargs)

    cls = type("Thing", (Base,), {})
    return lambda x: (cls(x).result, cls(x, 4).result)


@way("property", method=True)
def _property(function: Any) -> Any:
    cls = type("Thing", (), {"x": torch.ones(3), "call": property(lambda self: function(self, 2))})
    thing = cls()
    return lambda x: x + thing.call


@way("forward", method=True)
def _forward(function: Any) -> Any:
    module = type("Thing", (torch.nn.Module,), {"forward": function})()
    return lambda x: calls(module, x)


@way("operator", method=True)
def _operator(function: Any) -> Any:
    thing = type("Thing", (), {"__add__": function, "__getitem__": function})()
    return lambda x: (thing + x, thing[x])


@way("missing attribute", method=True)
def _missing(function: Any) -> Any:
    cls = type("Thing", (), {"__getattr__": lambda self, name: function(self, 2)})
    thing = cls()
    return lambda x: x + thing.lacking


@way("generator")
def _generator(function: Any) -> Any:
    def each(x: Any) -> Iterator[Any]:
        yield function(x)
        yield function(x, 4)

    return lambda x: list(each(x))


def _changes(function: Any) -> dict[str, Iterator[None]]:
    """What is done to a function, step by step."""

    def code() -> Iterator[None]:
        old = function.__code__
        function.__code__ = _other_code(old)
        yield
        function.__code__ = old
        yield

    def defaults() -> Iterator[None]:
        for value in ((9, 3), (2, 9), (3,), (2, 3), (9, 2, 3), (True, 3), (torch.ones(3), 3), None):
            function.__defaults__ = value
            yield

    def keywords() -> Iterator[None]:
        for value in ({"plus": 9}, {"plus": True}, {"plus": 1, "more": 2}, {"plus": 1}, None):
            function.__kwdefaults__ = value
            yield

    def keywords_in_place() -> Iterator[None]:
        for value in (9, True, 1.0, torch.ones(3), 1):
            function.__kwdefaults__["plus"] = value
            yield
        function.__kwdefaults__.clear()
        yield

    def cell() -> Iterator[None]:
        for value in (8, 7.0, torch.ones(3), 7):
            function.__closure__[0].cell_contents = value
            yield

    def variable() -> Iterator[None]:
        global SHIFT
        try:
            for SHIFT in (6, 5.0, True):  # as programs are written
                yield
        finally:
            SHIFT = 5
        yield

    changes = (code, defaults, keywords, keywords_in_place, cell, variable)
    return {each.__name__: each() for each in changes}


_SUBTRACT = next(
    inst.arg
    for inst in dis.get_instructions(lambda x: x - 1)
    if inst.opname == "BINARY_OP" and inst.arg is not None
)
"""What the instruction is told to subtract."""


def _other_code(code: types.CodeType) -> types.CodeType:
    """A code that subtracts where the other adds."""
    changed = bytearray(code.co_code)
    for inst in dis.get_instructions(code):
        if inst.opname == "BINARY_OP" and inst.argrepr == "+":
            changed[inst.offset + 1] = _SUBTRACT
    return code.replace(co_code=bytes(changed))


PARTS = tuple(_changes(_function()))


def case(of_way: str, part: str) -> Case:
    """The case of a pair."""

    def steps() -> Iterator[Any]:
        function = _method() if of_way in METHODS else _function()
        yield WAYS[of_way](function)
        yield from _changes(function)[part]

    return steps


def cases() -> dict[str, Case]:
    """Every pair."""
    return {f"{part} by {of_way}": case(of_way, part) for of_way in WAYS for part in PARTS}
