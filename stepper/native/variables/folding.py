"""Operations on constants: done while tracing, as Python does them."""

from __future__ import annotations

import contextlib
import operator
import re
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from stepper.native.exc import unimplemented
from stepper.native.library import NUMPY
from stepper.native.variables import lists
from stepper.native.variables.base import NO_GUARDS, Guards, Keywords, VariableTracker
from stepper.native.variables.constant import CONSTANT_TYPES, ConstantVariable, is_constant
from stepper.native.variables.exceptions import observed_error
from stepper.support.outside import comes_from_outside
from stepper.support.words import Classes

NUMPY_NUMBERS = Classes(
    *(() if NUMPY is None else (NUMPY.dtype(code).type for code in "?bhilqBHILQefdFD"))
)
"""Classes of NumPy's numbers, but for those whose bits are not all used."""

MAX_FOLDED = 4096
"""Bits, characters or items of a constant that folding may make."""
MAX_DIGITS = sys.int_info.str_digits_check_threshold
"""Numbers of so many digits become text whatever the program has set."""

OPERATORS: frozenset[object] = frozenset(
    getattr(operator, name)
    for name in operator.__all__
    if not name.endswith(("getter", "Of", "delitem"))
) - {operator.is_, operator.is_not}
"""Those of one or two values; which object one is, is asked as the instruction asks it."""


def fold(
    function: Callable[..., object],
    args: Sequence[VariableTracker],
    kwargs: Keywords,
    skip: int = 0,
) -> VariableTracker:
    """Call a function of constants; of the first `skip` arguments only the guards count.

    Raises:
        Unsupported: it raises, the result is no constant, or would be huge.
    """
    options = VariableTracker.propagate(args, list(kwargs.values()))
    values = [arg.as_python_constant() for arg in args[skip:]]
    named = {key: arg.as_python_constant() for key, arg in kwargs.items()}
    if function in (operator.pow, operator.ipow, operator.lshift, operator.ilshift, pow):
        if any(type(value) is int and abs(value) > MAX_FOLDED for value in values[1:]):
            raise unimplemented("a huge number")
    elif function in (operator.mul, operator.imul):
        sizes = [len(v) if isinstance(v, str | bytes | tuple | list) else 1 for v in values]
        counts = [v for v in values if type(v) is int]
        if max([1, *sizes]) > 1 and max(sizes) * max([1, *counts]) > MAX_FOLDED:
            raise unimplemented("a huge sequence")
    if any(map(is_long, (*values, *named.values()))):
        texts = any(isinstance(value, str | bytes) for value in values)
        if function not in OPERATORS or texts:
            raise unimplemented("the text of a huge number")
    try:
        with _where_numpy_would_warn(function, values):
            result = function(*values, **named)
    except Exception as error:
        if comes_from_outside(error):
            raise
        if type(error) is TypeError and "() takes " in str(error):
            raise unimplemented(f"TypeError: {error}") from None  # it depends on how it is called
        raise observed_error(error) from None
    return wrap_constant(result, options["guards"])


def _where_numpy_would_warn(
    function: Callable[..., object], values: Sequence[object]
) -> contextlib.AbstractContextManager[object]:
    """Within this, it raises FloatingPointError there."""
    if NUMPY is None or not (
        isinstance(getattr(function, "__self__", None), NUMPY.generic)
        or getattr(function, "__module__", "") == "numpy"
        or type(function) is NUMPY.ufunc
        or any(type(value) in NUMPY_NUMBERS for value in values)
    ):
        return contextlib.nullcontext()
    quiet: contextlib.AbstractContextManager[object] = NUMPY.errstate(all="raise")
    return quiet


def is_long(value: object) -> bool:
    """Whether a constant is, or says, a number with so many digits that
    `sys.set_int_max_str_digits` decides whether it can be turned into text and back."""
    if isinstance(value, tuple | list | frozenset):
        return any(map(is_long, value))
    if isinstance(value, str | bytes):
        return len(value) > MAX_DIGITS and value.isalnum()
    return isinstance(value, int) and value.bit_length() > 3 * MAX_DIGITS


OF_DICTS: list[Callable[[dict[object, VariableTracker], Guards], VariableTracker]] = []
"""What makes the tracker of a dictionary, as the module says that has it."""


def wrap_constant(value: Any, guards: Guards = NO_GUARDS) -> VariableTracker:
    """The tracker of a value that an operation on constants gave.

    Raises:
        Unsupported: it is no constant.
    """
    kind = type(value)
    if (
        kind in CONSTANT_TYPES
        or kind in NUMPY_NUMBERS
        or kind is types.UnionType
        or kind is re.Match
        or (NUMPY is not None and isinstance(value, NUMPY.dtype))
    ):
        return ConstantVariable(value, guards=guards)
    if kind is tuple or kind is torch.Size:
        items = [wrap_constant(item, guards) for item in value]
        made = lists.TupleVariable if kind is tuple else lists.SizeVariable
        return made(items, guards=guards)
    if kind is list:
        return lists.ListVariable.new([wrap_constant(item, guards) for item in value], guards)
    if kind is dict and all(map(is_constant, value)):
        held = {key: wrap_constant(item, guards) for key, item in value.items()}
        return OF_DICTS[0](held, guards)
    if kind is range:
        return lists.RangeVariable(value, guards=guards)
    if kind is frozenset and is_constant(value):
        return ConstantVariable(value, guards=guards)
    raise unimplemented(f"a value of type {kind.__name__}")
