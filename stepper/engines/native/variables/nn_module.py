"""Modules of `torch.nn`.

A module is known by its identity, as in the documents: the entry dies with it. Calling it means
calling its `forward`, unless it has hooks; whether it has is guarded, and so is its `training`
mode. Parameters and buffers are inputs of the graph, checked like all tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from stepper.engines.native.guard_builder import GuardBuilder
from stepper.engines.native.guards import has_hooks
from stepper.engines.native.source import AttrSource
from stepper.engines.native.variables.base import VariableTracker
from stepper.engines.native.variables.user_defined import (
    AttributeMissing,
    UserDefinedObjectVariable,
    lookup,
)

if TYPE_CHECKING:
    from stepper.engines.native.symbolic_convert import InstructionTranslatorBase

_GLOBAL_HOOKS = ("_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks",
                 "_global_backward_pre_hooks")  # fmt: skip


def has_global_hooks() -> bool:
    """Whether hooks are registered for all modules."""
    return any(getattr(torch.nn.modules.module, name, None) for name in _GLOBAL_HOOKS)


class NNModuleVariable(UserDefinedObjectVariable):
    """A module."""

    def missing(self, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        mro = type(self.value).__mro__
        if lookup(mro, "__getattr__") is not torch.nn.Module.__dict__["__getattr__"]:
            raise self.refuse(f"attribute {name}")
        fields = self.instance_dict()
        for where in ("_parameters", "_buffers", "_modules"):
            if name in fields[where]:
                return tx.build(AttrSource(self._source(), name), fields[where][name])
        if self.source is not None:
            condition = f"not hasattr({self.source.name()}, {name!r})"
            tx.output.install_guard(self.source, GuardBuilder.EXPRESSION, name=condition)
        raise AttributeMissing(
            f"AttributeError: {type(self.value).__name__} has no attribute {name}"
        )

    def var_setattr(self, tx: InstructionTranslatorBase, name: str, value: VariableTracker) -> None:
        raise self.refuse(f"assignment to attribute {name}")

    def truth(self, tx: InstructionTranslatorBase) -> bool:
        if hasattr(type(self.value), "__len__"):
            return bool(self.length(tx).as_python_constant())
        return super().truth(tx)

    def call_function(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        mro = type(self.value).__mro__
        if lookup(mro, "__call__") is not torch.nn.Module.__dict__["__call__"]:
            return super().call_function(tx, args, kwargs)
        if has_hooks(self.value) or has_global_hooks():
            raise self.refuse("a call with hooks")
        if self.value.__dict__.get("_compiled_call_impl") is not None:
            raise self.refuse("a call that is compiled by itself")
        forward = self.attribute_of_class(tx, "forward", mro)
        return forward.call_function(tx, args, kwargs)
