"""Operators of which a side is an object of the program: who is asked, in which order.

As in CPython: the left side's method, then the reflected one of the right side, unless both are of
one class; the right side first where its class is derived from the left's and has a method of its
own. Who answers `NotImplemented` has not answered. An operator in place asks for its own method
before that. Nothing of it is done here where a builtin's own method would be asked, but for the
classes of constants and containers, which know nothing of the program's.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from stepper import _C
from stepper.native.guards.class_dicts import MISSING, find, is_derived, lookup
from stepper.native.variables import containers
from stepper.native.variables.base import VariableTracker
from stepper.native.variables.builtin_methods import IN_PLACE
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.exceptions import observed_error
from stepper.native.variables.lists import BaseListVariable
from stepper.native.variables.sets import SetVariable
from stepper.native.variables.tensor import TensorVariable
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.support.words import one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Translator

_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_",
               "xor", "lshift", "rshift")  # fmt: skip
_METHODS: dict[object, tuple[str, str]] = {
    getattr(operator, name): (f"__{name.strip('_')}__", f"__r{name.strip('_')}__")
    for name in _ARITHMETIC
} | {
    divmod: ("__divmod__", "__rdivmod__"),
    pow: ("__pow__", "__rpow__"),
} | {
    getattr(operator, name): (f"__{name}__", f"__{other}__")
    for name, other in (("lt", "gt"), ("le", "ge"), ("gt", "lt"), ("ge", "le"), ("eq", "eq"),
                        ("ne", "ne"))
}  # fmt: skip
"""The method of each operator, and the reflected one."""
_COMPARES = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_OF_CONTAINERS = frozenset(
    {
        *(_METHODS[each][0] for each in _COMPARES),
        *("__add__", "__mul__", "__rmul__", "__or__", "__and__", "__sub__", "__xor__"),
    }
)
"""Methods that do with an object what they do with the builtin container that it is."""
_REPEATED = (list, tuple, str, bytes, bytearray)
_SETS = (set, frozenset)
_PLAIN = (ConstantVariable, ConstDictVariable, BaseListVariable, SetVariable)
"""What answers nothing to an object of the program, unless that is one of `_ANSWERED`."""
_ANSWERED = (int, float, complex, str, bytes, bytearray, *_SETS)


def user_operator(
    tx: Translator, operation: Callable[..., object], a: VariableTracker, b: VariableTracker
) -> VariableTracker | None:
    """The operator, if a side is an object of the program; None: none is, or nobody is known to
    answer."""
    users = [
        isinstance(each, UserDefinedObjectVariable) and not each.is_python_constant()
        for each in (a, b)
    ]
    if not any(users):
        return None
    asked = IN_PLACE.get(operation, operation)
    if asked not in _METHODS:
        return None
    if asked is not operation and users[0]:
        found = _answer(tx, a, f"__i{_METHODS[asked][0].strip('_')}__", b)
        if found is not None:
            return found
    if operation is operator.ior and a.python_type() is dict:
        return None  # it asks nobody else
    if operation in IN_PLACE and a.python_type() is set and issubclass(b.python_type(), _SETS):
        return None  # a set becomes what they are together
    is_list = operation in (operator.iadd, operator.imul) and a.python_type() is list
    for one, name, other in _in_order(asked, a, b):
        owner = find(one.python_type(), name)[0]
        if is_list and one is a:
            continue  # a list comes last
        if operation is operator.imul and one is b and users[0] and one_of(owner, _REPEATED):
            continue  # CPython asks no sequence there
        compares = owner is deque and operation in _COMPARES
        known = one_of(owner, (list, tuple, dict, *_SETS)) and name in _OF_CONTAINERS
        if known or compares:
            if (found := _of_container(tx, owner, name, one, other)) is not None:
                return found
        elif isinstance(one, UserDefinedObjectVariable):
            if (found := _answer(tx, one, name, other)) is not None:
                return found
        elif not isinstance(one, _PLAIN) or isinstance(one, TensorVariable):
            return None
        elif issubclass(other.python_type(), _ANSWERED):
            raise other.refuse(f"what {one.describe()} answers to an operator")
    if is_list:
        return None
    if operation not in (operator.eq, operator.ne):
        refuse_operands(operation, a, b)
        return None
    same = a.identity is b.identity
    options = VariableTracker.propagate(a, b)
    return ConstantVariable(same is (operation is operator.eq), **options)


def refuse_operands(operation: Callable[..., object], *sides: VariableTracker) -> None:
    """Have the error be raised of which the text names the classes, where all have been asked."""
    stand_ins: list[object] = []
    for each in sides:
        kind = each.python_type()
        if one_of(kind, (int, float, bool, complex, type(None))):
            stand_ins.append(each.as_python_constant())
        elif isinstance(each, containers.BareDictVariable):
            return  # it is no dictionary's class that is named
        elif one_of(kind, containers.MAKERS) and operation is not operator.mod:
            stand_ins.append(kind())
        elif not isinstance(each, UserDefinedObjectVariable) or (
            containers.container_of(kind) or issubclass(kind, str | bytes)
        ):
            return  # sequences and texts have more to say
        else:
            stand_ins.append(type(_C.class_name(kind), (), {})())
    try:
        operation(*stand_ins)
    except TypeError as error:
        raise observed_error(error) from None


def _in_order(
    operation: object, a: VariableTracker, b: VariableTracker
) -> Iterator[tuple[VariableTracker, str, VariableTracker]]:
    name, reflected = _METHODS[operation]
    kinds = a.python_type(), b.python_type()
    derived = kinds[0] is not kinds[1] and is_derived(kinds[1], kinds[0])
    first = derived and (
        operation in _COMPARES or lookup(kinds[0], reflected) is not lookup(kinds[1], reflected)
    )
    sides = [(a, name, b)]
    if operation in _COMPARES or kinds[0] is not kinds[1]:
        sides.insert(0 if first else 1, (b, reflected, a))
    yield from sides


def _answer(
    tx: Translator, one: VariableTracker, name: str, other: VariableTracker
) -> VariableTracker | None:
    """What the method of an object of the program says; None: it has none, or says nothing."""
    assert isinstance(one, UserDefinedObjectVariable)
    found = lookup(type(one.value), name)
    if found is MISSING or found is object.__dict__.get(name):
        if name != "__ne__" or found is MISSING:
            return None
        equal = _answer(tx, one, "__eq__", other)
        if equal is None:
            return None
        return ConstantVariable(not equal.truth(tx), guards=equal.guards)
    kind = type(one.value)
    inherited = containers.inherits(kind, name) and not name.startswith("__i")
    if inherited or not (one.has_special(name) or containers.inherits(kind, name)):
        raise one.refuse_method(name)
    said = one.special(tx, name, [other])
    nothing = isinstance(said, ConstantVariable) and said.value is NotImplemented
    return None if nothing else said


def _of_container(
    tx: Translator, owner: type, name: str, one: VariableTracker, other: VariableTracker
) -> VariableTracker | None:
    """What a method of a builtin container says; None: it says nothing."""
    from stepper.native.variables.builtin import binary_op

    times = "mul" in name
    kinds = _SETS if owner in _SETS else owner
    if not (other.python_type() is int if times else issubclass(other.python_type(), kinds)):
        return None
    sides = [
        each.contents(tx) if isinstance(each, UserDefinedObjectVariable) else each
        for each in (one, other)
    ]
    return binary_op(tx, operator.mul if times else getattr(operator, name), *sides)
