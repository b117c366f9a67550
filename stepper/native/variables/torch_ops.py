"""Operators by their own names: `torch.ops`, its namespaces, and what `torch.library` defines.

An operator says itself what it does: by its schema, which arguments it writes to, and by its fake
kernel, what it gives. One that writes to none can be a node, whoever has defined it; by the rules
of `torch.library` it does nothing else that could be noticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepper.native.exc import unimplemented
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import AttrSource
from stepper.native.variables.base import Arguments, Keywords, VariableTracker
from stepper.native.variables.lists import BaseListVariable
from stepper.native.variables.misc import PythonModuleVariable
from stepper.native.variables.torch import TorchInGraphFunctionVariable
from stepper.native.versions import (
    OPERATOR_NAMESPACES,
    CustomOpDef,
    HigherOrderOperator,
    OpOverload,
    OpOverloadPacket,
    arguments_of,
    is_torchs_own,
    operator_of,
)
from stepper.support.words import Classes

if TYPE_CHECKING:
    from stepper.native.protocols import Translator
    from stepper.native.variables.builder import VariableBuilder

_OPERATORS = Classes(OpOverload, OpOverloadPacket, CustomOpDef)


def wrap_operator(builder: VariableBuilder, value: Any) -> VariableTracker | None:
    """The tracker of an operator or of a namespace; None: it is neither."""
    kind = type(value)
    if kind not in OPERATOR_NAMESPACES and kind not in _OPERATORS:
        return None
    made = OperatorVariable if kind in _OPERATORS else OperatorNamespaceVariable
    guards = builder.install_guards(GuardBuilder.ID_MATCH, value)
    return made(value, source=builder.source, guards=guards)


class OperatorNamespaceVariable(PythonModuleVariable):
    """`torch.ops`, or a namespace of it: modules, in which torch puts what it is asked for."""

    def has_attribute(self, tx: Translator, name: str) -> bool:
        raise self.refuse("hasattr")

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        return member(tx, self, self.value, name)


class OperatorVariable(TorchInGraphFunctionVariable):
    """An operator, one overload of it, or what `torch.library.custom_op` has made."""

    def describe(self) -> str:
        return f"operator {self.value}"

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        return member(tx, self, self.value, name)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        target = operator_of(self.value) if type(self.value) is CustomOpDef else self.value
        if writes(target, args, kwargs):
            raise unimplemented(f"operator {target}, which writes to its arguments")
        tx.output.calls_program |= not is_torchs_own(target)
        result = tx.call_in_graph("call_function", target, args, kwargs)
        return result.with_guards(self.guards)


def member(tx: Translator, owner: VariableTracker, value: object, name: str) -> VariableTracker:
    """A namespace, an operator or an overload by its name. torch looks it up when somebody asks for
    it the first time."""
    found = None if name.startswith("__") else getattr(value, name, None)
    known = type(found) in OPERATOR_NAMESPACES or type(found) in _OPERATORS
    if owner.source is None or not (known or isinstance(found, HigherOrderOperator)):
        raise owner.refuse(f"attribute {name}")
    return tx.build(AttrSource(owner.source, name), found).with_guards(owner.guards)


def writes(operator: Any, args: Arguments, kwargs: Keywords) -> bool:
    """Whether a call of an operator, or of one of its overloads, may write to an argument."""
    overloads = [operator]
    if isinstance(operator, OpOverloadPacket):
        packet: Any = operator
        overloads = [getattr(packet, name) for name in packet.overloads()]
    # Some overloads are for TorchScript's lists.
    lists = any(isinstance(arg, BaseListVariable) for arg in (*args, *kwargs.values()))
    return any(
        argument.alias_info is not None
        and argument.alias_info.is_write
        and (
            argument.name in kwargs
            if argument.kwarg_only
            else lists or argument.type.kind() == "TensorType"
        )
        for overload in overloads
        for argument in arguments_of(overload)
    )
