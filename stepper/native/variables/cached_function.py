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
import enum
import functools
import gc
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import torch

from stepper import _C
from stepper.native.exc import PrepareFirst, unimplemented
from stepper.native.guards.class_dicts import lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import CallSource
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationExisting,
    Keywords,
    VariableTracker,
    is_hashed_by_identity,
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
_TUPLES = (tuple, torch.Size)
_ENTRY = "_lru_list_elem"
"""The name of the class of what a cache of limited size holds."""


@tracker_class
class PendingCallVariable(VariableTracker):
    """A call that is to be done again with the arguments that are stored in it."""

    python_class = CACHED
    is_repeated = True

    holder: CachedFunctionVariable
    """The function."""
    names: tuple[str, ...]
    """Those of the last arguments, which were given by name."""

    def describe(self) -> str:
        return f"the cache of {self.holder.describe()}"


class CachedFunctionVariable(UserDefinedObjectVariable):
    """A function with a cache that was there before."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        given = [tx.realize(each) for each in (*args, *kwargs.values())]
        names = tuple(kwargs)
        if not all(map(_is_key, given)):
            raise self.refuse("a call")
        try:
            found = kept_result(self.value, names, *map(_value_of, given))
        except LookupError:
            raise self.first_call(tx, names, given) from None
        options = self.propagate(self, given)
        tx.output.chosen(options["guards"])
        made = tx.build(self._asked(kept_result, names, given), found)
        pending = PendingCallVariable(
            self, names, mutation_type=AttributeMutationExisting(), **options
        )
        tx.output.side_effects.store_attr(pending, "arguments", TupleVariable(given, **options))
        return made.with_guards(options["guards"])

    def _asked(
        self,
        question: Callable[..., object],
        names: tuple[str, ...],
        given: Sequence[VariableTracker],
    ) -> CallSource:
        """What the answer to a question about its cache is found by, for these arguments."""
        return CallSource(self._source(), question, (names, *map(_operand_of, given)))

    def first_call(
        self, tx: Translator, names: tuple[str, ...], given: list[VariableTracker]
    ) -> Exception:
        """To be raised where there is no result yet."""
        call = self.value, names, *map(_value_of, given)
        if tx.output.may_prepare() and call not in _CALLED_BEFORE:
            return PrepareFirst(
                functools.partial(_call_before, call),
                f"{self.describe()} is called with new arguments",
            )
        why = unimplemented(f"the first call with these arguments of {self.describe()}")
        source = self._asked(is_new, names, given)
        why.at_break = lambda: tx.output.install_guard(source, GuardBuilder.EXPRESSION)
        return why


_Call = tuple[Any, ...]
"""A function, the names of its last arguments, and all of these."""
_CALLED_BEFORE: set[_Call] = set()
"""Calls that have been done before their frames, which are not to count twice."""
_of_this_capture: list[_Call] = []
"""Those of the capture that is going on."""


def end_capture(*, succeeded: bool) -> None:
    """A capture has ended; where it has failed, nobody does its calls again."""
    if not succeeded:
        _CALLED_BEFORE.difference_update(_of_this_capture)
    _of_this_capture.clear()


def _call_before(call: _Call) -> None:
    function, names, *args = call
    _CALLED_BEFORE.add(call)
    _of_this_capture.append(call)
    with contextlib.suppress(Exception):  # the program is told that it is no graph
        _call(function, names, args)


def _call(function: Callable[..., object], names: tuple[str, ...], args: Sequence[object]) -> None:
    place = len(args) - len(names)
    function(*args[:place], **dict(zip(names, args[place:], strict=True)))


def _is_key(value: VariableTracker) -> bool:
    """Whether it can be found among the keys of a cache."""
    if isinstance(value, TupleVariable) and one_of(value.python_type(), _TUPLES):
        return all(each.is_python_constant() and _is_key(each) for each in value.items)
    if isinstance(value, UserDefinedObjectVariable):
        return value.source is not None and _may_be_compared(value.value)
    return value.is_python_constant() and _may_be_compared(value.as_python_constant())


def _value_of(given: VariableTracker) -> object:
    if isinstance(given, UserDefinedObjectVariable):
        return given.value
    return _as_tuple(given.as_python_constant())


def _operand_of(given: VariableTracker) -> object:
    """What stands for an argument in the expression that finds the result."""
    return given.source if isinstance(given, UserDefinedObjectVariable) else _value_of(given)


def _as_tuple(value: object) -> object:
    """A constant with a tuple for each shape in it, which is equal to that."""
    return tuple(map(_as_tuple, value)) if _is_tuple(value) else value


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    """Whether it is compared as a tuple is: one, or a shape."""
    return one_of(type(value), _TUPLES)


def _may_be_compared(value: object) -> bool:
    """Whether it is a constant that its text tells, a tuple of those, or an object that is equal to
    itself only: to compare it runs nothing of the program's."""
    if _is_tuple(value):
        return all(map(_may_be_compared, value))
    kind = type(value)
    if one_of(kind, _IN_KEYS):
        return not isinstance(value, float) or math.isfinite(value)
    return is_hashed_by_identity(kind) or _is_plain_enum(kind)


def _is_plain_enum(kind: type) -> bool:
    """Whether members of a class are compared as those of `enum.Enum` are."""
    if lookup(kind, "__eq__") is not object.__dict__["__eq__"]:
        return False
    return lookup(kind, "__hash__") is enum.Enum.__dict__["__hash__"]


def kept_result(function: Callable[..., object], names: tuple[str, ...], *args: object) -> object:
    """What the cache of a function has for arguments, of which the last ones were given by name;
    nothing is counted.

    Raises:
        LookupError: nothing.
    """
    if not all(map(_may_be_compared, args)):
        raise LookupError
    held = gc.get_referents(function)
    ends = [place for place, each in enumerate(held) if each is _C.instance_dict(function)]
    key = _key_of(names, args)
    # Of a cache that is not limited the last dictionary but the function's own has the results; of
    # another one each result stands behind its key, and its entry's class behind that.
    cache = next(each for each in reversed(held[: ends[-1]]) if type(each) is dict)
    found = cache[key]
    if class_name(type(found)) != _ENTRY:
        return found
    for each, result in zip(held[1::3], held[2::3], strict=False):
        if _is_same(each, key):
            return result
    raise LookupError


def _key_of(names: tuple[str, ...], args: tuple[object, ...]) -> object:
    """The key that `lru_cache` makes of arguments: a lone number or text is its own."""
    if names:
        place = len(args) - len(names)
        named = zip(names, args[place:], strict=True)
        return *args[:place], _mark_before_names(), *itertools.chain.from_iterable(named)
    return args[0] if len(args) == 1 and one_of(type(args[0]), (int, str)) else args


@functools.cache
def _mark_before_names() -> object:
    """What stands in keys before arguments that were given by name."""
    function = functools.lru_cache(maxsize=None)(lambda of: of)
    function(of=None)
    caches = (each for each in gc.get_referents(function) if type(each) is dict)
    keys = itertools.chain.from_iterable(caches)
    return next(key[0] for key in keys if type(key) is tuple)


def is_new(function: Callable[..., object], names: tuple[str, ...], *args: object) -> bool:
    """Whether the cache of a function has nothing for arguments."""
    try:
        kept_result(function, names, *args)
    except LookupError:
        return True
    return False


def _is_same(key: object, other: object) -> bool:
    """Whether two keys are equal, without asking what is no constant."""
    if key is other:
        return True
    if _is_tuple(key) and _is_tuple(other):
        return len(key) == len(other) and all(map(_is_same, key, other))
    return type(key) is type(other) and one_of(type(key), _IN_KEYS) and key == other


def call_again(
    function: Callable[..., object], names: tuple[str, ...], args: tuple[object, ...]
) -> None:
    """Call a function of which the result is kept."""
    if (function, names, *args) in _CALLED_BEFORE:
        _CALLED_BEFORE.discard((function, names, *args))
    else:
        _call(function, names, args)


_C.set_skip(kept_result.__code__, "recursive")
_C.set_skip(_call.__code__, "recursive")
_C.set_skip(call_again.__code__, "recursive")
