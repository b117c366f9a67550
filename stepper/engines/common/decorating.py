"""Decorating a function of the program from outside, wherever a module or a class has it.

To write `@torch.compiler.disable` above a function puts something else into its module or class
under the function's name. The same is done here to a program that runs already. Whoever has taken
the function from there before (a list of callbacks, a closure) still has the one without.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from stepper.model.cache import CacheError
from stepper.support.words import one_of


def place_of(code: CodeType) -> tuple[str, str, int]:
    """A function's qualified name, file and first line."""
    return code.co_qualname, code.co_filename, code.co_firstlineno


def decorate(place: tuple[str, str, int], decorator: Callable[[Any], Any]) -> None:
    """Put a decorator on the function of a place.

    Raises:
        CacheError: no module and no class has the function.
    """
    made: dict[int, Any] = {}
    for owner, name, value in list(_attributes()):
        kind = type(value)
        function = value.__func__ if one_of(kind, (staticmethod, classmethod)) else value
        if type(function) is not FunctionType or place_of(function.__code__) != place:
            continue
        if id(function) not in made:
            made[id(function)] = decorator(function)
        new = made[id(function)]
        if new is not function:
            setattr(owner, name, new if function is value else kind(new))
    if not made:
        raise CacheError("no module and no class has it")


def _attributes() -> Iterator[tuple[ModuleType | type, str, Any]]:
    """Every attribute of every module and class, read where it lies."""
    modules = [each for each in list(sys.modules.values()) if issubclass(type(each), ModuleType)]
    classes = [each for each in gc.get_objects() if issubclass(type(each), type)]
    for owner in (*modules, *classes):
        names = _NAMES_OF_CLASS(owner) if issubclass(type(owner), type) else vars(owner)
        for name, value in list(names.items()):
            yield owner, name, value


_NAMES_OF_CLASS = type.__dict__["__dict__"].__get__
