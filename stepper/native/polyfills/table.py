"""What there is a function for, and what marks such functions."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import NamedTuple

from stepper.uncompiled import keep_out

Polyfill = Callable[..., object]

FUNCTIONS: dict[object, Polyfill] = {}
"""By builtin, what is interpreted in its place."""
ITERATORS: dict[object, Polyfill] = {}
"""By builtin class of iterators, what is interpreted instead: it returns a generator."""
OPERATIONS: dict[object, Polyfill] = {}
"""By operator and class of what stands left."""
METHODS: dict[object, Polyfill] = {}
"""By method of a builtin class, what is interpreted in its place."""
CALLABLES: dict[object, Polyfill] = {}
"""By builtin class whose objects are called, what is interpreted instead: it returns a function."""


class Remaking(NamedTuple):
    """How an iterator is made anew that goes on where a generator stands.

    function: makes it.
    names: the generator's variables that it is given.
    begun: whether it can be made once a value has been given.
    """

    function: Callable[..., object]
    names: tuple[str, ...]
    begun: bool


REMAKING: dict[types.CodeType, Remaking] = {}
"""By code of the generator that gives an iterator's values."""


def refuse() -> None:
    """Not interpreted: the graph breaks."""


def stands_for(table, *builtins):
    """The decorated function does what these do."""

    def register(function):
        table.update(dict.fromkeys(builtins, function))
        return function

    return register


def goes_on(function, *names, begun=True):
    """The decorated generator gives the values of an iterator that the function makes anew."""

    def register(generator):
        REMAKING[generator.__code__] = Remaking(function, names, begun)
        return generator

    return register


_REFUSED = refuse.__code__
_FOLDER = os.path.dirname(__file__)


def is_polyfill(code: types.CodeType) -> bool:
    """Whether the code is that of a function of these modules, or in one."""
    return os.path.dirname(code.co_filename) == _FOLDER and code is not _REFUSED


keep_out()
