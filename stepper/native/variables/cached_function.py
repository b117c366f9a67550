"""Functions whose results `functools.lru_cache` keeps.

A result that is kept is a value that was there before like any other: it is found in the cache, by
the arguments, and guarded there. What the call itself does, to count it and to note that the result
was used, is a pending change: the function is called where others are done, and finds the same. The
first call with some arguments is left to Python, and once it has been done, the frame is captured
anew; where the program has asked for one graph, it is done before the frame, as lazy modules are
made ready (`variables.lazy_module`).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from stepper import _C
from stepper.native.exc import PrepareFirst, unimplemented
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import CallSource
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationExisting,
    Keywords,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.lists import TupleVariable
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.support.words import class_name, one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Translator

CACHED = type(functools.lru_cache(len))
"""The class of such functions."""
_IN_KEYS = (int, str, bool, type(None), bytes, float)
_ENTRY = "_lru_list_elem"
"""The name of the class of what a cache of limited size holds."""


@tracker_class
class PendingCallVariable(VariableTracker):
    """A call that is to be done again with the arguments that are stored in it."""

    python_class = CACHED
    is_repeated = True

    holder: CachedFunctionVariable
    """The function."""

    def describe(self) -> str:
        return f"the cache of {self.holder.describe()}"


class CachedFunctionVariable(UserDefinedObjectVariable):
    """A function with a cache that was there before."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        given = [tx.realize(each) for each in args]
        if kwargs or not all(map(_is_key, given)):
            raise self.refuse("a call")
        values = tuple(each.as_python_constant() for each in given)
        try:
            found = kept_result(self.value, *values)
        except LookupError:
            raise self.first_call(tx, values) from None
        options = self.propagate(self, given)
        tx.output.chosen(options["guards"])
        made = tx.build(CallSource(self._source(), kept_result, values), found)
        pending = PendingCallVariable(self, mutation_type=AttributeMutationExisting(), **options)
        tx.output.side_effects.store_attr(pending, "arguments", TupleVariable(given, **options))
        return made.with_guards(options["guards"])

    def first_call(self, tx: Translator, values: tuple[object, ...]) -> Exception:
        """To be raised where there is no result yet."""
        call = self.value, values
        if tx.output.may_prepare() and call not in _CALLED_BEFORE:
            return PrepareFirst(
                functools.partial(_call_before, call),
                f"{self.describe()} is called with new arguments",
            )
        why = unimplemented(f"the first call with these arguments of {self.describe()}")
        source = CallSource(self._source(), is_new, values)
        why.at_break = lambda: tx.output.install_guard(source, GuardBuilder.EXPRESSION)
        return why


_CALLED_BEFORE: set[tuple[object, tuple[object, ...]]] = set()
"""Calls that have been done before their frames, which are not to count twice."""
_of_this_capture: list[tuple[object, tuple[object, ...]]] = []
"""Those of the capture that is going on."""


def end_capture(*, succeeded: bool) -> None:
    """A capture has ended; where it has failed, nobody does its calls again."""
    if not succeeded:
        _CALLED_BEFORE.difference_update(_of_this_capture)
    _of_this_capture.clear()


def _call_before(call: tuple[Callable[..., object], tuple[object, ...]]) -> None:
    function, args = call
    _CALLED_BEFORE.add(call)
    _of_this_capture.append(call)
    with contextlib.suppress(Exception):  # the program is told that it is no graph
        function(*args)


def _is_key(value: VariableTracker) -> bool:
    """Whether it is a constant that its text tells."""
    if not value.is_python_constant() or not one_of(value.python_type(), _IN_KEYS):
        return False
    return value.python_type() is not float or math.isfinite(value.as_python_constant())


def kept_result(function: Callable[..., object], *args: object) -> object:
    """What the cache of a function has for arguments; nothing is counted.

    Raises:
        LookupError: nothing.
    """
    held = gc.get_referents(function)
    ends = [place for place, each in enumerate(held) if each is _C.instance_dict(function)]
    key = args[0] if len(args) == 1 and one_of(type(args[0]), (int, str)) else args
    # Of a cache that is not limited the last dictionary but the function's own has the results; of
    # another one each result stands behind its key, and its entry's class behind that.
    cache = next(each for each in reversed(held[: ends[-1]]) if type(each) is dict)
    found = cache[key]
    if class_name(type(found)) != _ENTRY:
        return found
    of_entries = zip(held[1::3], held[2::3], strict=False)
    return next(result for each, result in of_entries if _is_same(each, key))


def is_new(function: Callable[..., object], *args: object) -> bool:
    """Whether the cache of a function has nothing for arguments."""
    try:
        kept_result(function, *args)
    except LookupError:
        return True
    return False


def _is_same(key: object, other: object) -> bool:
    """Whether two keys are equal, without asking what is no constant."""
    if type(key) is not type(other):
        return False
    parts = key if isinstance(key, tuple) else (key,)
    return all(one_of(type(each), _IN_KEYS) for each in parts) and key == other


def call_again(function: Callable[..., object], args: tuple[object, ...]) -> None:
    """Call a function of which the result is kept."""
    if (function, args) in _CALLED_BEFORE:
        _CALLED_BEFORE.discard((function, args))
    else:
        function(*args)


_C.set_skip(kept_result.__code__, "recursive")
_C.set_skip(call_again.__code__, "recursive")
