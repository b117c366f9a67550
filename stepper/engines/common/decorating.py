"""Decorating a function of the program from outside, wherever a module or a class has it.

To write `@torch.compiler.disable` above a function puts something else into its module or class
under the function's name. The same is done here to a program that runs already. Whoever has taken
the function from there before (a list of callbacks, a closure) still has the one without.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from stepper.engines.common.attributes import attributes, function_in
from stepper.model.cache import CacheError


def place_of(code: CodeType) -> tuple[str, str, int]:
    """A function's qualified name, file and first line."""
    return code.co_qualname, code.co_filename, code.co_firstlineno


def decorate(place: tuple[str, str, int], decorator: Callable[[Any], Any]) -> None:
    """Put a decorator on the function of a place.

    Raises:
        CacheError: no module and no class has the function.
    """
    made: dict[int, Any] = {}
    for owner, name, value in list(attributes()):
        kind, function = type(value), function_in(value)
        if function is None or place_of(function.__code__) != place:
            continue
        if id(function) not in made:
            made[id(function)] = decorator(function)
        new = made[id(function)]
        if new is not function:
            setattr(owner, name, new if function is value else kind(new))
    if not made:
        raise CacheError("no module and no class has it")
