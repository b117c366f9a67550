"""Context managers that can be entered while tracing: gradient modes, and those that do nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import torch

from stepper.native.guards.originals import is_original
from stepper.native.variables.base import NO_GUARDS, VariableTracker
from stepper.native.variables.constant import ConstantVariable
from stepper.native.versions import set_grad_enabled

if TYPE_CHECKING:
    from stepper.native.protocols import Output, Translator
    from stepper.native.variables.base import TrackerOptions

GRAD_MODES: dict[object, bool | None] = {
    torch.no_grad: False,
    torch.enable_grad: True,
    torch.set_grad_enabled: None,
}
"""The classes, with the mode; None: it is the argument."""


_OF_CONTEXTS = ("__new__", "__init__", "__enter__", "__exit__")


def is_grad_mode(output: Output, value: type) -> bool:
    """Whether a class sets the gradient mode, and does it as torch has it."""
    known = any(value is each for each in GRAD_MODES)  # a metaclass may hash
    return known and all(is_original(output, value, name) for name in _OF_CONTEXTS)


def is_null_context(output: Output, value: type) -> bool:
    """Whether a class is `contextlib.nullcontext`, as Python has it."""
    known = value is contextlib.nullcontext
    return known and all(is_original(output, value, name) for name in _OF_CONTEXTS)


class GradModeClassVariable(VariableTracker):
    """`torch.no_grad` and its relatives.

    value: the class.
    """

    def __init__(self, value: Any, **options: Unpack[TrackerOptions]) -> None:
        super().__init__(**options)
        self.value = value

    def describe(self) -> str:
        return f"torch.{self.value.__name__}"

    def python_type(self) -> type:
        return type

    def call_function(
        self,
        tx: Translator,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        mode = GRAD_MODES[self.value]
        if mode is None and len(args) == 1 and not kwargs:
            chosen = args[0].as_python_constant()
            if type(chosen) is not bool:
                raise self.refuse("a call with what is no bool")
            before = tx.output.grad_enabled
            set_grad_mode(tx, chosen)
            return SetGradVariable(chosen, before, **self.propagate(self, args))
        if mode is None or args or kwargs:
            raise self.refuse("a call with arguments")
        return GradModeVariable(mode, guards=self.guards)


class ContextManagerVariable(VariableTracker):
    """An object of which the graph knows what `with` does."""

    def enter(self, tx: Translator) -> tuple[VariableTracker, VariableTracker]:
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
        tx: Translator,
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

    def __init__(self, enter_result: VariableTracker, **options: Unpack[TrackerOptions]) -> None:
        super().__init__(**options)
        self.enter_result = enter_result

    def python_type(self) -> type:
        return contextlib.nullcontext

    def enter(self, tx: Translator) -> tuple[VariableTracker, VariableTracker]:
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
        tx: Translator,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        tx.leave_block(self)
        return ConstantVariable(None)


class GradModeVariable(ContextManagerVariable):
    """A context manager that sets the gradient mode.

    mode: which.
    """

    def __init__(self, mode: bool, **options: Unpack[TrackerOptions]) -> None:
        super().__init__(**options)
        self.mode = mode

    def describe(self) -> str:
        return "torch.enable_grad()" if self.mode else "torch.no_grad()"

    def python_type(self) -> type:
        return torch.enable_grad if self.mode else torch.no_grad

    def enter(self, tx: Translator) -> tuple[VariableTracker, VariableTracker]:
        before = tx.output.grad_enabled
        set_grad_mode(tx, self.mode)
        return GradModeExitVariable(before, guards=self.guards), ConstantVariable(None)

    def reconstruct(self, codegen: Any) -> None:
        codegen.load_callable(self.python_type())
        codegen.call(0)


class SetGradVariable(GradModeVariable):
    """`torch.set_grad_enabled(mode)`, which has set it; as a context manager, it puts back what was
    before.

    before: what that is.
    """

    def __init__(self, mode: bool, before: bool, **options: Unpack[TrackerOptions]) -> None:
        super().__init__(mode, **options)
        self.before = before

    def describe(self) -> str:
        return f"torch.set_grad_enabled({self.mode})"

    def python_type(self) -> type:
        return torch.set_grad_enabled

    def enter(self, tx: Translator) -> tuple[VariableTracker, VariableTracker]:
        set_grad_mode(tx, self.mode)
        return GradModeExitVariable(self.before, guards=self.guards), ConstantVariable(None)

    def reconstruct(self, codegen: Any) -> None:
        raise self.refuse("reconstruction")  # another would be made in another mode


class GradModeExitVariable(VariableTracker):
    """The exit function of such a context.

    before: the mode to go back to.
    """

    def __init__(self, before: bool, **options: Unpack[TrackerOptions]) -> None:
        super().__init__(**options)
        self.before = before

    def call_function(
        self,
        tx: Translator,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        set_grad_mode(tx, self.before)
        tx.leave_block(self)
        return ConstantVariable(None)


def set_grad_mode(tx: Translator, mode: bool) -> None:
    """Have the graph, and the operators of the translation from here on, use this mode."""
    output = tx.output
    before = output.grad_enabled
    node = output.graph.create_node("call_function", set_grad_enabled, (mode,))
    output.note_node(node, None, NO_GUARDS)
    output.side_effects.changes += 1
    place = output.grad_set_at
    output.grad_enabled, output.grad_set_at = mode, tx.root.current_instruction.index

    def undo() -> None:
        output.grad_enabled, output.grad_set_at = before, place

    output.trail.append(undo)
