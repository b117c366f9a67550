"""Builtins that are about objects: how they are made, their attributes, classes and identity."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

from stepper.native.exc import RestartAnalysis
from stepper.native.guards.class_dicts import has, has_dict, is_derived, lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import AttrSource
from stepper.native.variables import containers, lists
from stepper.native.variables.base import (
    Arguments,
    Keywords,
    TrackedKey,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin import BuiltinVariable, Handler, class_of, handles
from stepper.native.variables.constant import ConstantVariable, is_constant, name_of
from stepper.native.variables.exceptions import ExceptionVariable, TracebackVariable
from stepper.native.variables.functions import CellVariable, UserMethodVariable
from stepper.native.variables.misc import SuperVariable
from stepper.native.variables.named_tuple import NamedTupleClassVariable, NamedTupleVariable
from stepper.native.variables.new_object import make_by_object, make_container, make_empty
from stepper.native.variables.sets import SetVariable
from stepper.native.variables.user_defined import (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
    is_immutable,
)

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator


@handles(object.__setattr__)
def _object_setattr(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    owner, name, value = args
    plain = getattr(owner, "generic_setattr_method", None) is object.__setattr__
    if not plain or not isinstance(owner, UserDefinedObjectVariable):
        raise owner.refuse("object.__setattr__")
    owner.generic_setattr(tx, name_of(name), value)
    return ConstantVariable(None)


@handles(object.__getattribute__)
def _object_getattribute(
    tx: Translator, args: Arguments, kwargs: Keywords
) -> VariableTracker | None:
    owner, name = args
    if not isinstance(owner, UserDefinedObjectVariable):
        raise owner.refuse("object.__getattribute__")
    return owner.generic_getattr(tx, name_of(name))


@handles(str)
def _str(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    if isinstance(args[0], ExceptionVariable):
        return args[0].text(tx)
    if isinstance(args[0], UserDefinedObjectVariable | NamedTupleVariable):
        by_repr = lookup(args[0].python_type(), "__str__") is object.__dict__["__str__"]
        return BuiltinVariable(repr).call_function(tx, args, {}) if by_repr else None
    return _text_of_set(tx, args[0]) or _text_of_class(tx, args[0])


@handles(repr)
def _repr(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    value = args[0]
    if isinstance(value, ExceptionVariable | NamedTupleVariable):
        return value.shown(tx)
    return _text_of_set(tx, value) or _text_of_class(tx, value)


def _text_of_set(tx: Translator, tracker: VariableTracker) -> VariableTracker | None:
    """What `str` and `repr` give for a set that was there before, in its own order, which sets with
    the same elements need not have; of any other nobody knows the order."""
    if not isinstance(tracker, SetVariable) or tracker.steps or tracker.source is None:
        return None
    if not tracker.existed or not all(map(is_constant, tracker.begun)):
        return None
    shown = repr(tracker.begun)
    name = f"repr({tracker.source.name()}) == {shown!r}"
    guards = tx.output.install_guard(tracker.source, GuardBuilder.EXPRESSION, name=name)
    return ConstantVariable(shown, guards=tracker.guards | guards)


def _text_of_class(tx: Translator, tracker: VariableTracker) -> VariableTracker | None:
    """What `str` and `repr` give for a class whose class leaves them to `type` and `object`."""
    builtin = isinstance(tracker, BuiltinVariable)
    cls = tracker.as_python_constant() if builtin else getattr(tracker, "value", None)
    kind: type = type(cls)  # `isinstance` would ask the value for its class
    if not issubclass(kind, type) or (tracker.source is None and not builtin):
        return None
    for name, of in (("__repr__", type), ("__str__", object)):
        if lookup(kind, name) is not vars(of)[name]:
            return None
    parts = [tracker]
    if not builtin and not is_immutable(cls):
        assert tracker.source is not None
        for name in ("__module__", "__qualname__"):
            part = tx.build(AttrSource(tracker.source, name), type.__getattribute__(cls, name))
            parts.append(tx.realize(part))
    return ConstantVariable(repr(cls), **VariableTracker.propagate(parts))


@handles(object)
def _object(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    return make_empty(BuiltinVariable(object), object, None)


@handles(object.__new__)
def _object_new(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    return make_by_object(tx, args[0])


def _new_of(base: type) -> Handler:
    def handler(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
        cls, *given = args
        if isinstance(cls, NamedTupleClassVariable) and base is tuple and given:
            return cls.holding(tx, given[0])
        return make_container(tx, cls, base, given)

    return handler


for _base in containers.MAKERS:
    handles(_base.__new__)(_new_of(_base))


@handles(setattr)
def _setattr(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    owner, name, value = args
    owner.var_setattr(tx, name_of(name), value)
    return ConstantVariable(None)


@handles(delattr)
def _delattr(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    owner, name = args
    owner.var_delattr(tx, name_of(name))
    return ConstantVariable(None)


@handles(vars)
def _vars(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    (owner,) = args
    found = isinstance(owner, UserDefinedObjectVariable) and has_dict(owner.python_type())
    return owner.var_getattr(tx, "__dict__") if found else None


@handles(super)
def _super(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    if not args:
        if not tx.f_code.co_argcount:
            return None  # an error
        cell = tx.symbolic_locals.get("__class__")
        owner = tx.symbolic_locals.get(tx.f_code.co_varnames[0])
        if not isinstance(cell, CellVariable) or owner is None:
            return None
        if tx.f_code.co_varnames[0] in tx.f_code.co_cellvars:
            assert isinstance(owner, CellVariable)
            owner = owner.contents(tx)
        args = [cell.contents(tx), tx.realize(owner)]
    if len(args) != 2:
        return None
    of = args[1]
    kinds = [of.value] if isinstance(of, UserDefinedClassVariable) else []
    if not any(is_derived(kind, class_of(args[0])) for kind in (*kinds, of.python_type())):
        return None
    return SuperVariable(args[0], args[1], **VariableTracker.propagate(args))


@tracker_class
class IdentityVariable(VariableTracker):
    """`id` of an object, a number that nobody knows: to find something by in a dictionary."""

    python_class = int

    obj: VariableTracker
    """The object."""
    place: int
    """The instruction that asks for it."""

    def as_key(self, tx: Translator) -> TrackedKey:
        return TrackedKey(self)

    def __post_init__(self) -> None:
        self.identity = ("id", self.obj.identity)

    def reconstruct(self, codegen: Codegen) -> None:
        raise RestartAnalysis(self.place, "a call of builtin id")


@handles(id)
def _id(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    (owner,) = args
    known = tx.output.variables.values()
    value = next((each for each, tracker in known if tracker.identity is owner.identity), None)
    if owner.source is None or not type(value).__weakrefoffset__:  # the entry dies with it
        if owner.source is not None and not isinstance(owner, ConstantVariable):
            tx.output.note_key(owner.source)
        place = tx.root.current_instruction.index
        return IdentityVariable(owner, place, guards=owner.guards)
    guards = tx.output.install_guard(owner.source, GuardBuilder.ID_MATCH, value)
    tx.output.remember_address(value)
    return ConstantVariable(id(value), guards=owner.guards | guards)


@handles(sys.exc_info)
def _exc_info(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    current = tx.handled_exception()
    if current is None:
        guards = tx.output.install_guard(None, GuardBuilder.NOTHING_HANDLED)
        return lists.TupleVariable([ConstantVariable(None)] * 3, guards=guards)
    return lists.TupleVariable([tx.class_variable(current), current, TracebackVariable()])


@handles(types.MethodType)
def _method(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    function, owner = args
    if isinstance(owner, ConstantVariable):
        return None
    bound = function.bound_to(owner)
    called = isinstance(function, UserDefinedObjectVariable)
    if bound is None and called and has(function.python_type(), "__call__"):
        return UserMethodVariable(function, owner, **VariableTracker.propagate(args))
    return bound
