"""Variables of modules, modules themselves, builtins and the environment."""

from __future__ import annotations

import builtins
import contextlib
import math
import operator
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from tests.engines.native.replaced.running import (
    LOG,
    case,
    fresh,
    swaps,
)

_number: Any = 2
_table: dict[str, Any] = {"a": 1}


def _reads_a_global(x: torch.Tensor) -> Any:
    return x + _number


def _doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


_HERE = sys.modules[__name__]
swaps("global", _HERE, "_number", [3, 3.0, True, torch.ones(3)], _reads_a_global)
swaps("global function", _HERE, "_doubled", [torch.sin], lambda x: _doubled(x))
swaps("global module", _HERE, "F", [types.SimpleNamespace(relu=torch.sin)], lambda x: F.relu(x))
swaps("global that hides a builtin", _HERE, "len", [lambda x: 7], lambda x: x + len([1]))


@case
def global_deleted() -> Iterator[Any]:
    global _passing
    _passing = 2
    yield fresh(lambda x: x + _passing)  # noqa: F821  # it is there when it runs
    del _passing
    yield
    _passing = 4
    yield
    del _passing


_passing: Any


def _module(**variables: Any) -> types.ModuleType:
    made = types.ModuleType("module_of_a_case")
    exec("number = 2\ndef function(x): return x + number\ndef missing(x): return x + lacking",
         made.__dict__)  # fmt: skip
    made.__dict__.update(variables)
    return made


@contextlib.contextmanager
def _imported(module: types.ModuleType) -> Iterator[types.ModuleType]:
    sys.modules[module.__name__] = module
    try:
        yield module
    finally:
        sys.modules.pop(module.__name__, None)


@case
def global_of_another_module() -> Iterator[Any]:
    with _imported(_module()) as module:
        yield lambda x: module.function(x) + module.number
        module.number = 3
        yield
        module.function = torch.sin
        yield
        del module.number
        yield


@case
def global_of_another_module_that_was_missing() -> Iterator[Any]:
    with _imported(_module(lacking=1)) as module:
        yield lambda x: module.missing(x)
        del module.lacking
        yield
        module.lacking = 5
        yield


@case
def attribute_that_a_module_lacks() -> Iterator[Any]:
    with _imported(_module()) as module:
        yield lambda x: x + getattr(module, "lacking", 3) + hasattr(module, "lacking")
        module.lacking = 5
        yield
        del module.lacking
        yield
        module.__getattr__ = lambda name: 6
        yield


@case
def class_of_a_module() -> Iterator[Any]:
    class Other(types.ModuleType):
        @property
        def number(self) -> int:
            return 8

    with _imported(_module()) as module:
        # Not `module.number`: Python 3.14 goes on with what a module's __dict__ has.
        yield lambda x: x + getattr(module, "number")
        module.__class__ = Other
        yield


@case
def module_of_sys_modules() -> Iterator[Any]:
    def program(x: Any) -> Any:
        import module_of_a_case

        return x + module_of_a_case.number

    with _imported(_module()):
        yield program
        with _imported(_module(number=5)):
            yield
        yield


@case
def import_function_of_builtins() -> Iterator[Any]:
    def program(x: Any) -> Any:
        import math

        return x + math.floor(2.5)

    yield program
    before = builtins.__import__

    def other(*args: Any, **kwargs: Any) -> Any:
        LOG.append(args[0])
        return before(*args, **kwargs)

    builtins.__import__ = other
    try:
        yield
    finally:
        builtins.__import__ = before
    yield


for _name, _value in {
    "len": lambda value: 9,
    "isinstance": lambda value, kind: False,
    "getattr": lambda *args: 3,
    "range": lambda *args: [1],
    "print": lambda *args: None,
    "abs": lambda value: value + 100,
    "max": lambda *args: args[0],
    "round": lambda *args: 50,
    "float": lambda value: 60.0,
    "bool": lambda value: True,
    "divmod": lambda a, b: (1, 2),
    "reversed": lambda value: [3],
    "slice": lambda *args: 0,
    "hash": lambda value: 9,
    "pow": lambda *args: 9,
    "callable": lambda value: False,
    "enumerate": lambda value: [(1, 2)],
    "super": lambda *args: 3,
    "property": lambda *args: 3,
    "min": lambda *args: 31,
    "sum": lambda *args: 32,
}.items():

    def _uses_builtins(x: torch.Tensor) -> Any:
        class_ = isinstance(x, torch.Tensor)
        a, b = divmod(7, 3)
        items = [abs(-2), max(1, 2), min(1, 2), round(2.6), float(3), bool(0), a, b, len([1, 2])]
        items += [*reversed([1, 2]), *[i for i, _ in enumerate("ab")], pow(2, 3), sum((1, 2))]
        items += [callable(3), getattr(3, "real", 1), class_]
        return x + 1, items, [1, 2, 3][slice(1)], hash(3)

    swaps(f"builtin {_name}", builtins, _name, [_value], _uses_builtins)

swaps("function of math", math, "sqrt", [lambda value: 9.0], lambda x: x + math.sqrt(4.0))
swaps("function of operator", operator, "add", [operator.sub], lambda x: operator.add(x, 2))
swaps("constant of math", math, "pi", [3.0], lambda x: x + math.pi)


@case
def environment() -> Iterator[Any]:
    key = "STEPPER_TEST_REPLACED"
    yield lambda x: (x + len(os.environ.get(key, "")), key in os.environ, os.getenv(key))
    os.environ[key] = "abc"
    try:
        yield
        os.environ[key] = ""
        yield
    finally:
        del os.environ[key]
    yield


@case
def module_of_a_package_that_is_another() -> Iterator[Any]:
    one, other = (types.ModuleType(name) for name in ("a_package", "another_package"))
    for number, each in enumerate((one, other), 1):
        vars(each).update(__path__=[], by=number)
    names: dict[str, Any] = {"__package__": "a_package.within", "__name__": "a_package.within.m"}
    exec("def imports(x):\n    from .. import by\n    return x + by", names)
    with _in_sys_modules({"a_package": one, "another_package": other}):
        yield names["imports"]
        vars(one)["by"] = 3
        yield
        names["__package__"] = "another_package.within"
        yield
        names["__package__"] = None  # then the module's own name says it
        yield
        del names["__package__"]
        yield


@contextlib.contextmanager
def _in_sys_modules(modules: dict[str, types.ModuleType]) -> Iterator[None]:
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
