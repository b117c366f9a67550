"""Values whose attributes are the methods of a builtin type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepper.engines.native.variables.base import VariableTracker

if TYPE_CHECKING:
    from stepper.engines.native.symbolic_convert import InstructionTranslatorBase


class HasBuiltinMethods(VariableTracker):
    """One that has no other attributes; `call_method` says what a method does."""

    def var_getattr(self, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        return bound_method(self, name)


def bound_method(owner: VariableTracker, name: str) -> VariableTracker:
    """A method of a builtin type, bound."""
    from stepper.engines.native.variables.functions import BoundBuiltinMethod

    if not callable(getattr(owner.python_type(), name, None)):
        raise owner.refuse(f"attribute {name}")
    return BoundBuiltinMethod(owner, name, guards=owner.guards)
