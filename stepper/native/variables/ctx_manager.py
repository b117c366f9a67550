"""Context managers that can be entered while tracing: gradient modes, other modes that the graph
enters and leaves by itself, and those that do nothing."""

from __future__ import annotations

import contextlib
import inspect
import types
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.attention

from stepper import _C
from stepper.native import polyfills
from stepper.native.exc import unimplemented
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.of_torch import require_function
from stepper.native.guards.originals import is_original, require
from stepper.native.variables.base import (
    NO_GUARDS,
    Arguments,
    Keywords,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.functions import BaseUserFunctionVariable
from stepper.native.variables.polyfilled import PolyfilledCallableVariable
from stepper.native.versions import (
    ENTERED_ANYHOW,
    TRANSFORMS,
    autocast_arguments,
    enter_autocast,
    enter_inference_mode,
    enter_record_function,
    enter_sdpa_kernel,
    enter_without_hooks,
    leave_mode,
    sdpa_arguments,
    set_grad_enabled,
)

if TYPE_CHECKING:
    from torch.fx.node import Argument, Node

    from stepper.native.protocols import Codegen, Output, Translator

GRAD_MODES: dict[object, bool | None] = {
    torch.no_grad: False,
    torch.enable_grad: True,
    torch.set_grad_enabled: None,
}
"""The classes, with the mode; None: it is the argument."""


MODES: dict[object, tuple[Callable[..., object], Callable[..., tuple[Argument, ...]], bool]] = {
    torch.autocast: (enter_autocast, autocast_arguments, True),
    torch.inference_mode: (enter_inference_mode, lambda made: (made.mode,), False),
    torch.autograd.profiler.record_function: (
        enter_record_function,
        lambda made: (made.name, made.args),
        False,
    ),
    torch.nn.attention.sdpa_kernel: (enter_sdpa_kernel, sdpa_arguments, False),
    torch.autograd.graph.disable_saved_tensors_hooks: (
        enter_without_hooks,
        lambda made: made.args,
        False,
    ),
}
"""For each class, or function that makes contexts, what enters one, what it is made of, and whether
operators give something else in it."""

_MADE_BY_FUNCTIONS = type(contextlib.contextmanager(lambda: iter(()))())
_RUNS_PIECE_BY_PIECE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_OF_CONTEXTS = ("__new__", "__init__", "__enter__", "__exit__")


def is_grad_mode(output: Output, value: type) -> bool:
    """Whether a class sets the gradient mode, and does it as torch has it."""
    return _is_among(output, value, GRAD_MODES)


def is_mode(output: Output, value: type) -> bool:
    """Whether a class is of contexts that the graph enters and leaves, as torch has it."""
    return _is_among(output, value, MODES)


def is_null_context(output: Output, value: type) -> bool:
    """Whether a class is `contextlib.nullcontext`, as Python has it, or as good as that."""
    return _is_among(output, value, (contextlib.nullcontext, *ENTERED_ANYHOW))


def context_function(output: Output, value: types.FunctionType) -> VariableTracker | None:
    """A function of torch that makes contexts which the graph enters and leaves by itself; None: it
    is no such function."""
    if value in MODES or value in TRANSFORMS:
        require_function(output, value)
        return ModeClassVariable(value)
    return NullContextClassVariable() if value in ENTERED_ANYHOW else None


def _is_among(output: Output, value: type, classes: Iterable[object]) -> bool:
    known = any(value is each for each in classes)  # a metaclass may hash
    return known and all(is_original(output, value, name) for name in _OF_CONTEXTS)


@tracker_class
class GradModeClassVariable(VariableTracker):
    """`torch.no_grad` and its relatives."""

    value: Any
    """The class."""

    def describe(self) -> str:
        return f"torch.{self.value.__name__}"

    def python_type(self) -> type:
        return type

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        mode = GRAD_MODES[self.value]
        if mode is None and len(args) == 1 and not kwargs:
            chosen = args[0].as_python_constant()
            if type(chosen) is not bool:
                raise self.refuse("a call with what is no bool")
            before = tx.output.grad_enabled
            set_grad_mode(tx, chosen)
            return SetGradVariable(chosen, before, **self.propagate(self, args))
        if mode is not None and args:
            return decorated(tx, self, [], args, kwargs)
        if mode is None or args or kwargs:
            raise self.refuse("a call with arguments")
        return GradModeVariable(mode, guards=self.guards)


class ContextManagerVariable(VariableTracker):
    """An object of which the graph knows what `with` does."""

    stays = False
    """Whether the graph can be broken inside of the block: `write_exit` is known, and what is
    called there is captured."""

    def enter(self, tx: Translator) -> tuple[VariableTracker, VariableTracker]:
        """What `with` does at its beginning: the exit function, and what `as` gets."""
        raise NotImplementedError

    def write_exit(self, codegen: Codegen) -> None:
        """Push the exit function, as it is once the block has been entered."""
        raise self.refuse("the exit function")


class NullContextClassVariable(VariableTracker):
    """`contextlib.nullcontext`."""

    def python_type(self) -> type:
        return type

    def describe(self) -> str:
        return "contextlib.nullcontext"

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        if len(args) > 1 or kwargs:
            raise self.refuse("a call with these arguments")
        result = args[0] if args else ConstantVariable(None)
        return NullContextVariable(result, **self.propagate(self, args))


@tracker_class
class NullContextVariable(ContextManagerVariable):
    """A context manager that does nothing."""

    enter_result: VariableTracker
    """What `as` gets."""

    def python_type(self) -> type:
        return contextlib.nullcontext

    stays = True

    def enter(self, tx: Translator) -> tuple[VariableTracker, VariableTracker]:
        return ExitVariable(lambda tx: None, self, guards=self.guards), self.enter_result

    def write_exit(self, codegen: Codegen) -> None:
        codegen(self)
        codegen.load_attr("__exit__")

    def parts(self) -> Sequence[VariableTracker]:
        return [self.enter_result]

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.load_callable(contextlib.nullcontext)
        codegen(self.enter_result)
        codegen.call(1)


@tracker_class
class GradModeVariable(ContextManagerVariable):
    """A context manager that sets the gradient mode."""

    mode: bool
    """Whether gradients are on inside."""

    def describe(self) -> str:
        return "torch.enable_grad()" if self.mode else "torch.no_grad()"

    def python_type(self) -> type:
        return torch.enable_grad if self.mode else torch.no_grad

    stays = True

    def enter(self, tx: Translator) -> tuple[VariableTracker, VariableTracker]:
        before = self._before(tx)
        set_grad_mode(tx, self.mode)
        leave = partial(set_grad_mode, mode=before)
        entered = GradBlockVariable(self.python_type(), self.mode, before)
        return ExitVariable(leave, entered, guards=self.guards), ConstantVariable(None)

    def _before(self, tx: Translator) -> bool:
        """What it puts back."""
        return tx.output.grad_enabled

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        return decorated(tx, GradModeClassVariable(self.python_type()), [], args, kwargs)

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.load_callable(self.python_type())
        codegen.call(0)


@tracker_class
class SetGradVariable(GradModeVariable):
    """`torch.set_grad_enabled(mode)`, which has set it; as a context manager, it puts back what was
    before.
    """

    before: bool
    """The mode that is put back."""

    def describe(self) -> str:
        return f"torch.set_grad_enabled({self.mode})"

    def python_type(self) -> type:
        return torch.set_grad_enabled

    def _before(self, tx: Translator) -> bool:
        return self.before

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        set_grad_mode(tx, self.before)
        manager = GradModeClassVariable(self.python_type())
        return decorated(tx, manager, [ConstantVariable(self.mode)], args, kwargs)

    def reconstruct(self, codegen: Codegen) -> None:
        raise self.refuse("reconstruction")  # another would be made in another mode


class GradBlockVariable(ContextManagerVariable):
    """A context manager that has set the gradient mode, in its block.

    kind: its class.
    mode, before: what it has set, and what was set before.
    """

    stays = True

    def __init__(self, kind: type, mode: bool, before: bool) -> None:
        super().__init__()
        self.kind = kind
        self.mode = mode
        self.before = before

    def write_exit(self, codegen: Codegen) -> None:
        codegen.load_callable(exit_of_grad_mode)
        for value in (self.kind, self.mode, self.before):
            codegen.load_const(value)
        codegen.call(3)


def exit_of_grad_mode(kind: type, mode: bool, before: bool) -> object:
    """The exit function of a context manager that has set a gradient mode."""
    context = kind(mode) if kind is torch.set_grad_enabled else kind()
    context.prev = before
    return context.__exit__


_C.set_skip(exit_of_grad_mode.__code__, "recursive")


@tracker_class
class ExitVariable(VariableTracker):
    """The exit function of a context."""

    leave: Callable[[Translator], None]
    """Does what leaving the context does."""
    manager: ContextManagerVariable
    """The context, once it has been entered."""

    def parts(self) -> Sequence[VariableTracker]:
        return self.manager.parts()

    def reconstruct(self, codegen: Codegen) -> None:
        self.manager.write_exit(codegen)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        self.leave(tx)
        tx.leave_block(self)
        return ConstantVariable(None)


@tracker_class
class EnterVariable(VariableTracker):
    """`__enter__` of a context that has been entered already, with its exit function."""

    result: VariableTracker
    """What entering the context returns."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        return self.result


@tracker_class
class ModeClassVariable(VariableTracker):
    """A class of contexts that the graph enters and leaves by itself, or a function that makes
    them."""

    value: Callable[..., contextlib.AbstractContextManager[object]]
    """The class, or the function."""

    def describe(self) -> str:
        return str(self.value.__qualname__)

    def python_type(self) -> type:
        return type(self.value)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        if self.value in TRANSFORMS and not kwargs:
            proxies = [arg.as_proxy() for arg in args]
            nodes = tuple(getattr(proxy, "node", proxy) for proxy in proxies)
            return TransformVariable(self.value, nodes, **self.propagate(self, args))
        given = [arg.as_python_constant() for arg in args]
        named = {key: value.as_python_constant() for key, value in kwargs.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                made = self.value(*given, **named)
        except Exception as error:
            raise unimplemented(f"{type(error).__name__}: {error}") from None
        if isinstance(made, torch.autocast):
            tx.output.install_guard(None, GuardBuilder.AUTOCAST, made.device, key=made.device)
        options = self.propagate(self, args, list(kwargs.values()))
        return ModeVariable(self.value, MODES[self.value][1](made), **options)


@tracker_class
class ModeVariable(ContextManagerVariable):
    """A context of torch that sets a mode."""

    kind: Callable[..., contextlib.AbstractContextManager[object]]
    """The class of the context, or the function that made it."""
    given: tuple[Argument, ...]
    """What the context is made with."""

    def python_type(self) -> type:
        return self.kind if isinstance(self.kind, type) else _MADE_BY_FUNCTIONS

    def _add(self, output: Output, function: Callable[..., object], *given: Argument) -> Node:
        """A node that enters or leaves it."""
        node = output.graph.create_node("call_function", function, given)
        output.note_node(node, None, self.guards)
        return node

    def enter(self, tx: Translator) -> tuple[VariableTracker, VariableTracker]:
        output = tx.output
        function, _, of_operators = MODES[self.kind]
        entered = self._add(output, function, *self.given)
        before, given = output.modes, self.given
        if of_operators:
            output.modes = (*before, lambda: self.kind(*given))
        output.side_effects.changes += 1
        output.trail.append(lambda: setattr(output, "modes", before))
        grad_enabled = output.grad_enabled
        if self.kind is torch.inference_mode:  # of fake tensors, that is all that it does
            note_grad_mode(tx, not given[0])

        def leave(tx: Translator) -> None:
            self._add(output, leave_mode, entered)
            inside, output.modes = output.modes, before
            output.side_effects.changes += 1
            output.trail.append(lambda: setattr(output, "modes", inside))
            note_grad_mode(tx, grad_enabled)

        return ExitVariable(leave, self, guards=self.guards), InsideVariable(self.python_type())

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """As a decorator."""
        if self.kind is not torch.inference_mode:
            raise self.refuse("a call")
        given: Arguments = [ConstantVariable(each) for each in self.given]
        return decorated(tx, ModeClassVariable(self.kind), given, args, kwargs)


class TransformVariable(ModeVariable):
    """A context in which a transform of `torch.func` is active."""

    def enter(self, tx: Translator) -> tuple[VariableTracker, VariableTracker]:
        begin, end, function = TRANSFORMS[self.kind]
        entered = self._add(tx.output, function, *self.given)
        level = tx.output.begin_transform(begin, self.given)

        def leave(tx: Translator) -> None:
            self._add(tx.output, leave_mode, entered)
            tx.output.end_transform(end)

        exit = ExitVariable(leave, self, guards=self.guards)
        return exit, ConstantVariable(level, guards=self.guards)


class InsideVariable(VariableTracker):
    """What `as` gets of such a context, which nobody asks for anything.

    kind: its class.
    """

    def __init__(self, kind: type) -> None:
        super().__init__()
        self.kind = kind

    def python_type(self) -> type:
        return self.kind


def decorated(
    tx: Translator,
    manager: GradModeClassVariable | ModeClassVariable,
    given: Arguments,
    args: Arguments,
    kwargs: Keywords,
) -> VariableTracker:
    """A function that is called in a mode: what the context that is made of `given` is called
    with."""
    kind = manager.value
    assert isinstance(kind, type)
    function = args[0] if len(args) == 1 and not kwargs else None
    if not isinstance(function, BaseUserFunctionVariable):
        raise manager.refuse("a call with these arguments")
    if function.get_function().__code__.co_flags & _RUNS_PIECE_BY_PIECE:
        raise manager.refuse("a call with what is no plain function")
    require(tx.output, kind, "__call__", "clone")
    inner = tx.interpret(polyfills.called_in, [manager, function, *given], {})
    return DecoratedVariable(manager, kind, inner, [*given, function], {}, guards=inner.guards)


class DecoratedVariable(PolyfilledCallableVariable):
    """Such a function."""

    def python_type(self) -> type:
        return types.FunctionType

    def reconstruct(self, codegen: Codegen) -> None:
        # Another would be made in another mode, or has other arguments.
        if self.kind in (torch.set_grad_enabled, torch.inference_mode):
            raise self.refuse("reconstruction")
        super().reconstruct(codegen)


def set_grad_mode(tx: Translator, mode: bool) -> None:
    """Have the graph, and the operators of the translation from here on, use this mode."""
    output = tx.output
    node = output.graph.create_node("call_function", set_grad_enabled, (mode,))
    output.note_node(node, None, NO_GUARDS)
    output.side_effects.changes += 1
    note_grad_mode(tx, mode)


def note_grad_mode(tx: Translator, mode: bool) -> None:
    """The operators of the translation use this mode from here on."""
    output = tx.output
    before, output.grad_enabled = output.grad_enabled, mode
    output.trail.append(lambda: setattr(output, "grad_enabled", before))
