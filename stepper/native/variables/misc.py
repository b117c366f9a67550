"""Modules of Python, and `super()`."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Unpack

from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import (
    MISSING,
    find,
    has,
    is_derived,
    lookup,
    module_of,
    order_of,
    place_of,
)
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import AttrSource, GetItemSource
from stepper.native.variables.base import Arguments, Keywords, VariableTracker, tracker_class
from stepper.native.variables.builtin import BuiltinVariable
from stepper.native.variables.builtin_methods import KnownCallVariable
from stepper.native.variables.constant import ConstantVariable, name_of
from stepper.native.variables.descriptors import is_data_descriptor
from stepper.native.variables.exceptions import ObservedException
from stepper.native.variables.namespace import stored_in
from stepper.native.variables.new_object import make_new
from stepper.native.variables.user_defined import (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
)
from stepper.native.versions import STAND_INS, WRITTEN_AS
from stepper.support.words import one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Translator
    from stepper.native.variables.base import TrackerOptions


def is_stand_in(value: object) -> bool:
    """Whether a module of torch's has its attributes from another object."""
    kind = type(value)
    behind = STAND_INS.get(module_of(kind))
    if behind is None or not is_derived(kind, types.ModuleType):
        return False
    own = types.ModuleType.__getattribute__(value, "__dict__")
    return behind in own and has(kind, "__getattr__")


@tracker_class
class PythonModuleVariable(VariableTracker):
    """A module."""

    value: types.ModuleType
    """The Python module."""

    def describe(self) -> str:
        return f"module {self.value.__name__}"

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether the module has it; only where that can be checked again."""
        if stored_in(tx, self.value.__dict__, name) is not None:
            return True
        if name in self.value.__dict__:
            tx.build(AttrSource(self._source(), name), self.value.__dict__[name])
            return True
        if type(self.value) is not types.ModuleType or "__getattr__" in self.value.__dict__:
            raise self.refuse(f"hasattr {name}")
        if has(types.ModuleType, name):
            return True
        text = f"not {{{name!r}, '__getattr__'}} & {self._source().name()}.__dict__.keys()"
        install = tx.output.install_guard
        tx.output.chosen(install(self.source, GuardBuilder.EXPRESSION, name=text))
        return False

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        stored = stored_in(tx, self.value.__dict__, name)
        if stored is not None:
            return stored.with_guards(self.guards)
        kind = type(self.value)
        if kind is not types.ModuleType:
            of_class = lookup(kind, name)
            if of_class is not MISSING and is_data_descriptor(of_class):
                raise self.refuse(f"attribute {name}")
            if name not in self.value.__dict__ and of_class is MISSING:
                behind = self.value.__dict__[STAND_INS[module_of(kind)]]
                found = tx.build(AttrSource(self._source(), name), getattr(behind, name))
                return found.with_guards(self.guards)
        if name not in self.value.__dict__:
            raise self.refuse(f"attribute {name}")
        found = tx.build(AttrSource(self._source(), name), self.value.__dict__[name])
        return found.with_guards(self.guards)


class ScriptFunctionVariable(UserDefinedObjectVariable):
    """What `torch.jit.script` has made of a function, which is interpreted in its place, as in
    Dynamo."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        written = getattr(self.value, WRITTEN_AS, None)
        if type(written) is not types.FunctionType:
            raise self.refuse_call()
        try:
            function = tx.build(AttrSource(self._source(), WRITTEN_AS), written)
            return function.call_function(tx, args, kwargs).with_guards(self.guards)
        except ObservedException as error:  # it would be another one
            raise unimplemented(error.msg) from None


@tracker_class
class SuperVariable(VariableTracker):
    """`super()`."""

    python_class = super

    typevar: VariableTracker
    """The class after which the search begins."""
    objvar: VariableTracker
    """The object."""

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name == "__class__":
            return BuiltinVariable(super)
        if isinstance(self.objvar, UserDefinedClassVariable):
            return self._of_class(tx, self.objvar, name)
        read = getattr(self.objvar, "attribute_of_class", None)
        start = getattr(self.typevar, "value", None)
        if read is None or start is None:
            raise self.refuse(f"attribute {name}")
        kind = self.objvar.python_type()
        if not is_derived(kind, start):
            raise self.refuse(f"attribute {name}")
        rest = place_of(start, order_of(kind)) + 1
        if name == "__setattr__":
            method = getattr(self.objvar, "generic_setattr_method", None)
        else:
            of_all = ("__init__", "__getattribute__", "__delattr__")
            method = object.__dict__[name] if name in of_all else None
        if method is not None and find(kind, name, rest)[1] is method:
            return _of_object(self.objvar, name, **self.propagate(self, self.objvar))
        found: VariableTracker = read(tx, name, rest)
        return found.with_guards(self.guards)

    def _of_class(
        self, tx: Translator, objvar: UserDefinedClassVariable, name: str
    ) -> VariableTracker:
        """In a class method: the object is a class."""
        start = getattr(self.typevar, "value", None)
        if not isinstance(start, type):
            raise self.refuse(f"attribute {name}")
        order = order_of(objvar.value)
        meta = order_of(type(objvar.value))
        if one_of(start, meta) and not one_of(start, order):
            after = place_of(start, meta) + 1
            if name == "__call__" and find(meta[0], name, after)[1] is type.__dict__[name]:
                return _of_object(objvar, name, **self.propagate(self, objvar))
            return objvar.of_metaclass(tx, name, after).with_guards(self.guards)
        if not one_of(start, order) or objvar.source is None:
            raise self.refuse(f"attribute {name}")
        owner, found = find(objvar.value, name, place_of(start, order) + 1)
        if found is MISSING:
            raise self.refuse(f"attribute {name}")
        if found is object.__dict__["__new__"]:
            return BuiltinVariable(found, **self.propagate(self, objvar))
        of_class = GetItemSource(AttrSource(objvar.source, "__mro__"), place_of(owner, order))
        return objvar.attribute(tx, AttrSource(of_class, name), found).with_guards(self.guards)


def _of_object(obj: Any, method: str, **options: Unpack[TrackerOptions]) -> VariableTracker:
    """What `object` has to begin an object, and to store, find or delete its attributes, or `type`,
    to make one, when nobody in between does it otherwise."""

    def call(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        match method, args:
            case "__init__", [] if not kwargs:
                return ConstantVariable(None)
            case "__setattr__", [name, value] if not kwargs:
                obj.generic_setattr(tx, name_of(name), value)
                return ConstantVariable(None)
            case "__delattr__", [name] if not kwargs and hasattr(obj, "generic_delattr"):
                obj.generic_delattr(tx, name_of(name))
                return ConstantVariable(None)
            case "__call__", _ if isinstance(obj, UserDefinedClassVariable):
                return make_new(tx, obj, args, kwargs)
            case "__getattribute__", [name] if not kwargs and hasattr(obj, "generic_getattr"):
                found: VariableTracker = obj.generic_getattr(tx, name_of(name))
                return found
        raise obj.refuse(f"a call of {method}")

    return KnownCallVariable(call, types.MethodWrapperType, **options)
