"""Context managers that can be entered while tracing: gradient modes, and those that do nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from stepper.engines.native.variables.base import NO_GUARDS, VariableTracker
from stepper.engines.native.variables.constant import ConstantVariable

if TYPE_CHECKING:
    from stepper.engines.native.symbolic_convert import InstructionTranslatorBase

GRAD_MODES: dict[Any, bool | None] = {
    torch.no_grad: False,
    torch.enable_grad: True,
    torch.set_grad_enabled: None,
}
"""The classes, with the mode; None: it is the argument."""


class GradModeClassVariable(VariableTracker):
    """`torch.no_grad` and its relatives.

    value: the class.
    """

    def __init__(self, value: Any, **options: Any) -> None:
        super().__init__(**options)
        self.value = value

    def describe(self) -> str:
        return f"torch.{self.value.__name__}"

    def python_type(self) -> type:
        return type

    def call_function(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        mode = GRAD_MODES[self.value]
        if mode is None or args or kwargs:
            raise self.refuse("a call with arguments")
        return GradModeVariable(mode, guards=self.guards)


class ContextManagerVariable(VariableTracker):
    """An object of which the graph knows what `with` does."""

    def enter(self, tx: InstructionTranslatorBase) -> tuple[VariableTracker, VariableTracker]:
        """What `with` does at its beginning: the exit function, and what `as` gets."""
        raise NotImplementedError


class NullContextClassVariable(VariableTracker):
    """`contextlib.nullcontext`."""

    def python_type(self) -> type:
        return type

    def describe(self) -> str:
        return "contextlib.nullcontext"

    def call_function(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        if len(args) > 1 or kwargs:
            raise self.refuse("a call with these arguments")
        result = args[0] if args else ConstantVariable(None)
        return NullContextVariable(result, **self.propagate(self, args))


class NullContextVariable(ContextManagerVariable):
    """A context manager that does nothing.

    enter_result: what `as` gets.
    """

    def __init__(self, enter_result: VariableTracker, **options: Any) -> None:
        super().__init__(**options)
        self.enter_result = enter_result

    def python_type(self) -> type:
        return contextlib.nullcontext

    def enter(self, tx: InstructionTranslatorBase) -> tuple[VariableTracker, VariableTracker]:
        return NullContextExitVariable(guards=self.guards), self.enter_result

    def parts(self) -> Sequence[VariableTracker]:
        return [self.enter_result]

    def reconstruct(self, codegen: Any) -> None:
        codegen.load_callable(contextlib.nullcontext)
        codegen(self.enter_result)
        codegen.call(1)


class NullContextExitVariable(VariableTracker):
    """The exit function of such a context."""

    def call_function(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        tx.leave_block(self)
        return ConstantVariable(None)


class GradModeVariable(ContextManagerVariable):
    """A context manager that sets the gradient mode.

    mode: which.
    """

    def __init__(self, mode: bool, **options: Any) -> None:
        super().__init__(**options)
        self.mode = mode

    def describe(self) -> str:
        return "torch.enable_grad()" if self.mode else "torch.no_grad()"

    def python_type(self) -> type:
        return torch.enable_grad if self.mode else torch.no_grad

    def enter(self, tx: InstructionTranslatorBase) -> tuple[VariableTracker, VariableTracker]:
        before = tx.output.grad_enabled
        set_grad_mode(tx, self.mode)
        return GradModeExitVariable(before, guards=self.guards), ConstantVariable(None)

    def reconstruct(self, codegen: Any) -> None:
        codegen.load_callable(self.python_type())
        codegen.call(0)


class GradModeExitVariable(VariableTracker):
    """The exit function of such a context.

    before: the mode to go back to.
    """

    def __init__(self, before: bool, **options: Any) -> None:
        super().__init__(**options)
        self.before = before

    def call_function(
        self,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        set_grad_mode(tx, self.before)
        tx.leave_block(self)
        return ConstantVariable(None)


def set_grad_mode(tx: InstructionTranslatorBase, mode: bool) -> None:
    """Have the graph, and the operators of the translation from here on, use this mode."""
    output = tx.output
    before = output.grad_enabled
    node = output.graph.create_node("call_function", torch._C._set_grad_enabled, (mode,))
    output.note_node(node, None, NO_GUARDS)
    output.side_effects.changes += 1
    output.grad_enabled = mode
    output.trail.append(lambda: setattr(output, "grad_enabled", before))
