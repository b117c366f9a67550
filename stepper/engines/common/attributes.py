"""What modules and classes have under a name, read where it lies: no attribute of the program's is
asked for.

Classes are found by their bases. The garbage collector, which knows them, too, forgets what was
there before a program called `gc.freeze()`, as servers do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from stepper.support.words import one_of


def attributes() -> Iterator[tuple[ModuleType | type, str, Any]]:
    """Every attribute of every module and class."""
    for module in list(sys.modules.values()):
        if issubclass(type(module), ModuleType):
            yield from ((module, name, value) for name, value in list(vars(module).items()))
    for each in _classes():
        yield from ((each, name, value) for name, value in list(_NAMES_OF_CLASS(each).items()))


def function_in(value: object) -> FunctionType | None:
    """The function that is an attribute, or that a method of a class is made of."""
    inner: object = value.__func__ if one_of(type(value), (staticmethod, classmethod)) else value  # type: ignore[attr-defined]  # both have it
    return inner if type(inner) is FunctionType else None


def functions_with_names(code: CodeType) -> list[FunctionType]:
    """The functions of a code that a module or a class has."""
    found = {id(each): each for _, _, value in attributes() if (each := function_in(value))}
    return [each for each in found.values() if each.__code__ is code]


def _classes() -> list[type]:
    found = {id(object): object}
    waiting: list[type] = [object]
    while waiting:
        for each in _SUBCLASSES(waiting.pop()):
            if id(each) not in found:
                found[id(each)] = each
                waiting.append(each)
    return list(found.values())


_NAMES_OF_CLASS = type.__dict__["__dict__"].__get__
_SUBCLASSES = type.__dict__["__subclasses__"]
