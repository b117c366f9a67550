"""Methods of builtin types, and values that have no other attributes."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from stepper.native import break_contexts, polyfills
from stepper.native.exc import NativeError
from stepper.native.guards.class_dicts import has, lookup, module_of
from stepper.native.source import ConstantSource
from stepper.native.variables.base import Arguments, Keywords, VariableTracker, tracker_class
from stepper.support import break_kinds
from stepper.support.words import Classes

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe


METHODS_OF_C = Classes(types.MethodDescriptorType, types.WrapperDescriptorType)
"""What kinds of methods classes have that are not written in Python."""
_CONTAINERS = (dict, list, tuple, str, set, frozenset)
_BY_FUNCTION: dict[str, tuple[Callable[..., object] | None, int]] = {
    "__contains__": (operator.contains, 1), "__len__": (len, 0), "__iter__": (iter, 0),
    "__getitem__": (operator.getitem, 1), "__setitem__": (operator.setitem, 2),
    "__next__": (next, 0),
}  # fmt: skip
"""Functions that do what methods of the builtin containers do, and what those are given."""


IN_PLACE: dict[object, Callable[..., object]] = {
    getattr(operator, f"i{name.strip('_')}"): getattr(operator, name)
    for name in operator.__all__
    if hasattr(operator, f"__i{name.strip('_')}__")
}
"""What each operator in place is for what cannot be changed."""


class HasBuiltinMethods(VariableTracker):
    """A value whose only attributes are its methods; `call_method` says what a method does."""

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        return bound_method(tx, self, name)


def bound_method(tx: Translator, owner: VariableTracker, name: str) -> VariableTracker:
    """A method of a builtin type, bound; or the type, by the name that each object has for it."""
    if name == "__class__":
        return tx.class_variable(owner)
    found = lookup(owner.python_type(), name)
    if not callable(found) or name == "__new__":
        raise owner.refuse(f"attribute {name}")
    return BoundBuiltinMethod(owner, name, guards=owner.guards)


@tracker_class
class GenericAliasVariable(VariableTracker):
    """`list[int]`, `Callable[..., int]` and the like, which say a type and are handed on.

    origin, key: the class, and what it is of.
    """

    origin: VariableTracker
    key: VariableTracker
    alias: object = None
    """The alias itself, None: what it is of is only known as trackers."""

    @classmethod
    def of(
        cls, origin: VariableTracker, value: Any, key: VariableTracker
    ) -> GenericAliasVariable | None:
        """The alias of a class or a name of `typing`; None: of what, is not known."""
        try:
            alias = value[_written(key)]
        except (NativeError, TypeError):
            return None
        return cls(origin, key, alias, **cls.propagate(origin, key))

    def python_type(self) -> type:
        return types.GenericAlias if self.alias is None else type(self.alias)

    def is_python_constant(self) -> bool:
        return self.alias is not None

    def as_python_constant(self) -> object:
        return self.alias

    def recipe(self) -> Recipe:
        return operator.getitem, self.origin, self.key


def _written(key: VariableTracker) -> object:
    """What stands in a subscript that says a type: constants, classes and what `typing` has, in
    tuples and lists."""
    value = getattr(key, "value", None)
    if module_of(type(value)) == "typing":
        return value
    if key.python_type() in (tuple, list):
        return key.python_type()(map(_written, key.parts()))
    return key.as_python_constant()


@tracker_class
class BoundBuiltinMethod(VariableTracker):
    """A method of a builtin type, or of a tensor, with its object."""

    python_class = types.BuiltinMethodType

    obj: VariableTracker
    """The object."""
    name: str
    """The name of the method."""

    def describe(self) -> str:
        return f"method {self.name} of {self.obj.describe()}"

    def refuse_call(self) -> Exception:
        context = break_contexts.method_context(self.obj, self.name)
        of_generator = issubclass(self.obj.python_type(), torch.Generator)
        kind = break_kinds.OF_GENERATOR if of_generator else break_kinds.METHOD
        return self.refuse("a call", kind=kind, context=context)

    def unbound(self, owner: VariableTracker) -> UnboundMethodVariable | None:
        """The method as the class of the value has it of which it was read; None: it was not read
        of the class, or is a tensor's, which says the same either way."""
        kind = self.obj.python_type()
        if self.obj is not owner or issubclass(kind, torch.Tensor) or has(kind, "__getattr__"):
            return None
        found = lookup(kind, self.name)
        if type(found) not in METHODS_OF_C:
            return None
        return UnboundMethodVariable(self, found, guards=self.guards)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        kind = self.obj.python_type()
        function, count = _BY_FUNCTION.get(self.name, (None, 0))
        owner = tx.output.side_effects.latest(self.obj)
        known = kind in _CONTAINERS or has(kind, "__next__")
        if known and function is not None and len(args) == count and not kwargs:
            builtin = tx.build(ConstantSource(function), function)
            return builtin.call_function(tx, [owner, *args], {})
        method = getattr(kind, self.name, None)
        if type(method) in METHODS_OF_C and (polyfill := polyfills.METHODS.get(method)) is not None:
            return tx.interpret(polyfill, [self.obj, *args], kwargs)
        if kwargs and kind in _CONTAINERS and kind is not str and self.name != "update":
            raise self.refuse("an argument by its name")  # no other of theirs takes one
        return owner.call_method(tx, self.name, args, kwargs)

    def recipe(self) -> Recipe | None:
        return getattr, self.obj, self.name


@tracker_class
class KnownCallVariable(VariableTracker):
    """A method, or what is used as one, of which nothing is known but what a call does."""

    call: Callable[[Translator, Arguments, Keywords], VariableTracker]
    """Does that."""
    kind: type = types.MethodType

    def python_type(self) -> type:
        return self.kind

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether those of its class have the attribute."""
        return has(self.kind, name)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        return self.call(tx, args, kwargs)


@tracker_class
class UnboundMethodVariable(VariableTracker):
    """A method that is called at once, as the interpreter has it: below its object. What it refuses
    names the class that has it, `dict.clear()`, and that of a bound one the class of the object."""

    bound: BoundBuiltinMethod
    method: object

    def describe(self) -> str:
        return self.bound.describe()

    def refuse_call(self) -> Exception:
        return self.bound.refuse_call()

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.load_const(self.method)
