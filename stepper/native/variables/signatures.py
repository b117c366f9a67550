"""`inspect.signature` of functions, as far as it is asked for names."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import AttrSource
from stepper.native.variables.base import Arguments, Keywords, VariableTracker, tracker_class
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.functions import UserFunctionVariable, UserMethodVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Translator


class SignatureFunctionVariable(UserFunctionVariable):
    """`inspect.signature`."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        if len(args) != 1 or kwargs:
            raise self.refuse("a call with these arguments")
        function = args[0].fn if isinstance(args[0], UserMethodVariable) else args[0]
        if not isinstance(function, UserFunctionVariable) or function.source is None:
            raise args[0].refuse("the signature")
        function.tell_apart()
        if function.fn.__dict__:  # `__signature__` and `__wrapped__` say otherwise
            raise args[0].refuse("the signature")
        name = f"len({AttrSource(function.source, '__dict__').name()}) == 0"
        tx.output.install_guard(function.source, GuardBuilder.EXPRESSION, name=name)
        names = list(inspect.signature(function.fn).parameters)
        if function is not args[0]:
            if not names or function.fn.__code__.co_argcount == 0:
                raise args[0].refuse("the signature")
            del names[0]
        return SignatureVariable(names, **self.propagate(self, args))


@tracker_class
class SignatureVariable(VariableTracker):
    """A signature."""

    names: list[str]
    """The names of the parameters."""

    def python_type(self) -> type:
        return inspect.Signature

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name != "parameters":
            raise self.refuse(f"attribute {name}")
        return SignatureParametersVariable(self.names, guards=self.guards)


class SignatureParametersVariable(SignatureVariable):
    """A signature's parameters: how many, and which names."""

    def python_type(self) -> type:
        return type(inspect.Signature().parameters)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        raise self.refuse(f"attribute {name}")

    def length(self, tx: Translator) -> VariableTracker:
        """How many there are."""
        return ConstantVariable(len(self.names), guards=self.guards)

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        return item.as_python_constant() in self.names

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return [ConstantVariable(name, guards=self.guards) for name in self.names]
