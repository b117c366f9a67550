"""Functions whose results `functools.lru_cache` keeps.

A result that is kept is a value that was there before like any other: it is found in the cache, by
the arguments, and guarded there. What the call itself does, to count it and to note that the result
was used, is a pending change: the function is called where others are done, and finds the same.

At the first call with some arguments there is no result yet. It is called before the frame, as lazy
modules are made ready (`variables.lazy_module`), and the translation begins again and finds it, if
nobody can tell: nothing has been changed so far, and the function itself, which is interpreted to
see that, changes nothing; or the program has asked for one graph. Such a call has been counted, and
is not done once more. Any other is left to Python, and once it has been done, the frame is captured
anew.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import gc
import itertools
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import torch

from stepper import _C
from stepper.native.exc import PrepareFirst, Unsupported, let_go_of_frames, unimplemented
from stepper.native.guards.class_dicts import lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.protocols import FirstCall, Found
from stepper.native.source import AttrSource, CallSource
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationExisting,
    Keywords,
    MutationType,
    VariableTracker,
    is_hashed_by_identity,
    tracker_class,
)
from stepper.native.variables.lists import TupleVariable
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.support.words import class_name, one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Modes, Translator

CACHED = type(functools.lru_cache(len))
"""The class of such functions."""
_IN_KEYS = (int, str, bool, type(None), bytes, float, torch.device)
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
        firsts = tx.output.called_first
        made = [_first_call_of(firsts, each) for each in given]
        if not all(first or _is_key(each) for first, each in zip(made, given, strict=True)):
            raise self.refuse("a call")
        if any(made):
            values = [first or _value_of(each) for first, each in zip(made, given, strict=True)]
            return self.first_call(tx, names, given, values)
        values = [*map(_value_of, given)]
        if is_new(self.value, names, *values):
            return self.first_call(tx, names, given, values)
        found = kept_result(self.value, names, *values)
        options = self.propagate(self, given)
        tx.output.chosen(options["guards"])
        made_of = tx.build(self._asked(kept_result, names, given), found)
        pending = PendingCallVariable(
            self, names, mutation_type=AttributeMutationExisting(), **options
        )
        tx.output.side_effects.store_attr(pending, "arguments", TupleVariable(given, **options))
        return made_of.with_guards(options["guards"])

    def _asked(
        self,
        question: Callable[..., object],
        names: tuple[str, ...],
        given: Sequence[VariableTracker],
    ) -> CallSource:
        """What the answer to a question about its cache is found by, for these arguments."""
        return CallSource(self._source(), question, (names, *map(_operand_of, given)))

    def first_call(
        self, tx: Translator, names: tuple[str, ...], given: Arguments, values: Sequence[object]
    ) -> VariableTracker:
        """What it gives where there is no result yet: only to see whether the rest is captured."""
        call = FirstCall((self.value, names, *values))
        output, effects = tx.output, tx.output.side_effects
        if call in output.called_first:
            return tx.realize(output.called_first[call].found)
        as_given = all(effects.is_still(each.holds) for each in output.called_first.values())
        if as_given and output.is_untouched() and call.parts not in _CALLED_BEFORE:
            modes = output.active_modes()
            if _keeps_one_more(self.value, len(output.called_first)):
                begun = MutationType()
                found = self._interpreted(tx, names, given)
                if found is not None and output.is_untouched():
                    holds = effects.made_since(begun)
                    output.note_first_call(call, Found(found, modes, holds))
                    return found
            if output.has_to_be_whole():
                raise to_be_called_before({**output.called_first, call: Found(self, modes)})
        why = unimplemented(f"the first call with these arguments of {self.describe()}")
        if not any(isinstance(each, FirstCall) for each in values):
            source = self._asked(is_new, names, given)
            why.at_break = lambda: output.install_guard(source, GuardBuilder.EXPRESSION)
        raise why

    def _interpreted(
        self, tx: Translator, names: tuple[str, ...], given: list[VariableTracker]
    ) -> VariableTracker | None:
        """What the function around which the cache is gives; None: nobody knows."""
        wrapped = vars(self.value).get("__wrapped__")
        if all(each is not wrapped for each in gc.get_referents(self.value)):
            return None
        output = tx.output
        outside = output.called_first
        output.called_first = {}  # what the function calls first it calls itself
        inner = tx.build(AttrSource(self._source(), "__wrapped__"), wrapped)
        place = len(given) - len(names)
        named = dict(zip(names, given[place:], strict=True))
        try:
            return inner.call_function(tx, given[:place], named)
        except Unsupported as error:  # or an exception of the program's
            let_go_of_frames(error)
            return None
        finally:
            output.called_first = outside


_Call = tuple[Any, ...]
"""A function, the names of its last arguments, and all of these."""
_First = Mapping[FirstCall, Found]
_CALLED_BEFORE: set[_Call] = set()
"""Calls that have been done before their frames, which are not to count twice."""
_of_this_capture: list[_Call] = []
"""Those of the capture that is going on."""


def end_capture(*, succeeded: bool) -> None:
    """A capture has ended; where it has failed, nobody does its calls again."""
    if not succeeded:
        _CALLED_BEFORE.difference_update(_of_this_capture)
    _of_this_capture.clear()


def _first_call_of(calls: _First, value: VariableTracker) -> FirstCall | None:
    """The first call that gives an object; None: it comes from elsewhere."""
    if not isinstance(value, UserDefinedObjectVariable) or value.source is not None:
        return None
    if not is_hashed_by_identity(value.python_type()):
        return None
    return next(
        (call for call, each in calls.items() if each.found.identity is value.identity), None
    )


def to_be_called_before(calls: _First) -> PrepareFirst:
    """To be raised where calls are to be done before the frame."""
    function = next(iter(calls)).parts[0]
    name = getattr(function, "__qualname__", class_name(type(function)))
    modes = {call: each.modes for call, each in calls.items()}
    prepare = functools.partial(_call_before, modes)
    return PrepareFirst(prepare, f"{name} is called with new arguments")


def _call_before(calls: Mapping[FirstCall, Modes]) -> None:
    results: dict[object, object] = {}
    with contextlib.suppress(Exception):  # it is called again, and the program is told
        for first, modes in calls.items():
            parts: _Call = tuple(results.get(each, each) for each in first.parts)
            function, names, *args = parts
            _CALLED_BEFORE.add(parts)
            _of_this_capture.append(parts)
            with contextlib.ExitStack() as stack:
                for mode in modes:
                    stack.enter_context(mode())
                results[first] = _call(function, names, args)


def _keeps_one_more(function: Callable[..., object], others: int) -> bool:
    """Whether the cache of a function has room for one more result beside some others, and tells
    arguments apart by what is equal only."""
    told: Callable[[], dict[str, object]] = vars(function).get("cache_parameters", dict)
    if getattr(told, "__code__", None) not in _tellers() or told()["typed"]:
        return False
    info = vars(CACHED)["cache_info"](function)
    room: bool = info.maxsize is None or info.currsize + others < info.maxsize
    return room


@functools.cache
def _tellers() -> list[types.CodeType]:
    """The codes of what `lru_cache` lets a function tell its settings by."""
    codes = [functools.lru_cache.__code__]
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return [each for each in codes if each.co_name == "<lambda>"]


def _call(
    function: Callable[..., object], names: tuple[str, ...], args: Sequence[object]
) -> object:
    place = len(args) - len(names)
    return function(*args[:place], **dict(zip(names, args[place:], strict=True)))


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
