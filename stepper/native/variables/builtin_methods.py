"""Methods of builtin types, and values that have no other attributes."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from stepper.native import polyfills
from stepper.native.guards.class_dicts import lookup
from stepper.native.variables.base import VariableTracker

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.variables.base import TrackerOptions


_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


class HasBuiltinMethods(VariableTracker):
    """A value whose only attributes are its methods; `call_method` says what a method does."""

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        return bound_method(tx, self, name)


def bound_method(tx: Translator, owner: VariableTracker, name: str) -> VariableTracker:
    """A method of a builtin type, bound; or the type, by the name that each object has for it."""
    if name == "__class__":
        return tx.class_variable(owner)
    if not callable(lookup(owner.python_type(), name)):
        raise owner.refuse(f"attribute {name}")
    return BoundBuiltinMethod(owner, name, guards=owner.guards)


class GenericAliasVariable(VariableTracker):
    """`list[int]` and the like, which say a type and are handed on.

    origin, key: the class, and what it is of.
    """

    def __init__(
        self, origin: VariableTracker, key: VariableTracker, **options: Unpack[TrackerOptions]
    ) -> None:
        super().__init__(**options)
        self.origin = origin
        self.key = key

    def python_type(self) -> type:
        return types.GenericAlias

    def parts(self) -> Sequence[VariableTracker]:
        return [self.origin, self.key]

    def reconstruct(self, codegen: Codegen) -> None:
        codegen(self.origin)
        codegen(self.key)
        codegen.subscript()


class BoundBuiltinMethod(VariableTracker):
    """A method of a builtin type, or of a tensor, with its object.

    obj: the object.
    name: of the method.
    """

    def __init__(self, obj: VariableTracker, name: str, **options: Unpack[TrackerOptions]) -> None:
        super().__init__(**options)
        self.obj = obj
        self.name = name

    def describe(self) -> str:
        return f"method {self.name} of {self.obj.describe()}"

    def python_type(self) -> type:
        return types.BuiltinMethodType

    def truth(self, tx: Translator) -> bool:
        return True

    def call_function(
        self,
        tx: Translator,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        method = getattr(self.obj.python_type(), self.name, None)
        if type(method) in _METHODS and (function := polyfills.METHODS.get(method)) is not None:
            return tx.interpret(function, [self.obj, *args], kwargs)
        return tx.output.side_effects.latest(self.obj).call_method(tx, self.name, args, kwargs)

    def parts(self) -> Sequence[VariableTracker]:
        return [self.obj]

    def reconstruct(self, codegen: Codegen) -> None:
        codegen(self.obj)
        codegen.load_attr(self.name)
