"""Context managers that the graph enters and leaves by itself. Those for gradient modes are
interpreted as torch has written them: what they call is known."""

from __future__ import annotations

import contextlib
import types
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import torch
import torch.nn.attention

from stepper.native.exc import RestartAnalysis, unimplemented
from stepper.native.guards.class_dicts import lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.of_torch import require_function
from stepper.native.guards.originals import is_original, require
from stepper.native.source import AttrSource, CallSource, ConstantSource, Source
from stepper.native.variables.base import (
    NO_GUARDS,
    Arguments,
    Guards,
    Keywords,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin_methods import KnownCallVariable
from stepper.native.variables.constant import ConstantVariable
from stepper.native.versions import (
    OVERRIDES_OFF,
    TRANSFORMS,
    autocast_arguments,
    autocast_before,
    enter_autocast,
    enter_device,
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
    from stepper.native.source import Recipe

MODES: dict[object, tuple[Callable[..., object], Callable[..., tuple[Argument, ...]], bool]] = {
    torch.autocast: (enter_autocast, autocast_arguments, True),
    torch.inference_mode: (enter_inference_mode, lambda made: (made.mode,), False),
    torch.autograd.profiler.record_function: (
        enter_record_function,
        lambda made: (made.name, made.args),
        False,
    ),
    torch.nn.attention.sdpa_kernel: (enter_sdpa_kernel, sdpa_arguments, False),
    torch.device: (enter_device, lambda made: (made,), True),
    torch.autograd.graph.disable_saved_tensors_hooks: (
        enter_without_hooks,
        lambda made: made.args,
        False,
    ),
}
"""For each class, or function that makes contexts, what enters one, what it is made of, and whether
operators give something else in it."""

_MADE_BY_FUNCTIONS = type(contextlib.contextmanager(lambda: iter(()))())
_OF_CONTEXTS = ("__new__", "__init__", "__enter__", "__exit__")


def is_mode(output: Output, value: type) -> bool:
    """Whether a class is of contexts that the graph enters and leaves, as torch has it."""
    return value is not torch.device and _is_among(output, value, (*MODES, OVERRIDES_OFF))


def context_function(output: Output, value: types.FunctionType) -> VariableTracker | None:
    """A function of torch that makes contexts which the graph enters and leaves by itself; None: it
    is no such function."""
    if value not in MODES and value not in TRANSFORMS:
        return None
    require_function(output, value)
    return ModeClassVariable(value)


def _is_among(output: Output, value: type, classes: Iterable[object]) -> bool:
    known = any(value is each for each in classes)  # a metaclass may hash
    return known and all(is_original(output, value, name) for name in _OF_CONTEXTS)


def manager_of(value: VariableTracker) -> VariableTracker:
    """What `with` enters where this is given: a device is one, too."""
    if isinstance(value, ConstantVariable) and type(value.value) is torch.device:
        return ModeVariable(torch.device, (value.value,), guards=value.guards)
    return value


class ContextManagerVariable(VariableTracker):
    """An object of which the graph knows what `with` does."""

    def enter(self, tx: Translator) -> tuple[ExitVariable, VariableTracker]:
        """What `with` does at its beginning: the exit function, and what `as` gets."""
        raise NotImplementedError


@tracker_class
class ExitVariable(VariableTracker):
    """The exit function of a context."""

    leave: Callable[..., None]
    """Does what leaving the context does; see `leave_mode` for what it can be given besides."""
    manager: VariableTracker | None = None
    """The context, if code can enter it, too: then the graph can be broken in its block."""

    def recipe(self) -> Recipe | None:
        return None if self.manager is None else (exit_of_entered, self.manager)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        self.leave(tx)
        tx.leave_block(self)
        return ConstantVariable(None)


def exit_of_entered(manager: contextlib.AbstractContextManager[object]) -> object:
    """The exit function of a context, which is entered by this."""
    manager.__enter__()
    return manager.__exit__


def left(exit_function: Callable[[None, None, None], object]) -> None:
    """Leave a context by its exit function."""
    exit_function(None, None, None)


@tracker_class
class ModeClassVariable(VariableTracker):
    """A class of contexts that the graph enters and leaves by itself, or a function that makes
    them."""

    value: Callable[..., contextlib.AbstractContextManager[object]]
    """The class, or the function."""

    def describe(self) -> str:
        return str(self.value.__qualname__)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        if self.value is OVERRIDES_OFF and not args and not kwargs:
            return OverridesOffVariable(self.value, (), guards=self.guards)
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


def existing_autocast(
    tx: Translator, value: torch.autocast, source: Source, guards: Guards
) -> VariableTracker:
    """A context that was made before, as one that decorates a function is."""
    made_of = CallSource(source, autocast_arguments)
    given = tx.build(made_of, autocast_arguments(value)).unpack(tx)
    arguments = tuple(each.as_python_constant() for each in given)
    tx.output.install_guard(None, GuardBuilder.AUTOCAST, value.device, key=value.device)
    options = VariableTracker.propagate(given)
    guards |= options["guards"]
    return ModeVariable(torch.autocast, arguments, source=source, guards=guards)


def existing_exit(
    tx: Translator, value: types.MethodType, source: Source, manager: VariableTracker
) -> VariableTracker | None:
    """The exit function of an autocast that was entered before the frame; None: it is none."""
    context = value.__self__
    assert isinstance(context, torch.autocast)
    if value.__func__ is not torch.autocast.__exit__ or "prev" not in vars(context):
        return None
    before = CallSource(AttrSource(source, "__self__"), autocast_before)
    given = tx.build(before, autocast_before(context)).unpack(tx)
    options = VariableTracker.propagate(manager, given)
    arguments = tuple(each.as_python_constant() for each in given)
    as_before = ModeVariable(torch.autocast, arguments)

    def leave(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        # The graph enters that, and code leaves the autocast once the graph has run.
        _note(tx.output, "exits", (*tx.output.exits, (as_before.enter(tx)[0], exit)))
        return ConstantVariable(False)

    exit = KnownCallVariable(leave, source=source, **options)
    return exit


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

    def enter(self, tx: Translator) -> tuple[ExitVariable, VariableTracker]:
        output = tx.output
        function, _, of_operators = MODES[self.kind]
        if output.function_modes:
            raise self.refuse("the beginning, in a mode that is asked,")
        if output.state.inference and self.kind is torch.inference_mode and not self.given[0]:
            raise unimplemented("a block out of inference mode, in a frame that is called in it")
        entered = self._add(output, function, *self.given)
        before, given = output.modes, self.given
        output.side_effects.changes += 1
        if of_operators:
            _note(output, "modes", (*before, lambda: self.kind(*given)))
        grad_enabled, inference = output.grad_enabled, output.inference
        if self.kind is torch.inference_mode:
            _note(output, "grad_enabled", not given[0])
            _note(output, "inference", given[0])

        def leave(tx: Translator, *again: bool) -> None:
            self._add(output, leave_mode, entered, *again)
            output.side_effects.changes += 1
            _note(output, "modes", before)
            if self.kind is torch.inference_mode:  # others leave the gradient mode as it is
                _note(output, "grad_enabled", grad_enabled)
                _note(output, "inference", inference)

        known = self if self.kind in (torch.autocast, torch.device) else None
        inside: VariableTracker
        if self.kind is torch.device:
            inside = ConstantVariable(given[0], guards=self.guards)
        else:
            inside = InsideVariable(self.python_type(), tx.root.current_instruction.index)
        return ExitVariable(leave, known, guards=self.guards), inside

    def recipe(self) -> Recipe | None:
        known = self.kind in (torch.inference_mode, torch.autocast, torch.device)
        return (self.kind, *self.given) if known else None

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name != "clone" or self.kind is not torch.inference_mode:
            raise self.refuse(f"attribute {name}")
        require(tx.output, self.python_type(), name)
        return KnownCallVariable(lambda *given: self, guards=self.guards)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """As a decorator."""
        decorate = lookup(self.python_type(), "__call__")
        if self.kind is not torch.inference_mode or not isinstance(decorate, types.FunctionType):
            raise self.refuse("a call")
        require(tx.output, self.python_type(), "__call__")
        function = tx.build(ConstantSource(decorate), decorate)
        return function.call_function(tx, [self, *args], kwargs)


class TransformVariable(ModeVariable):
    """A context in which a transform of `torch.func` is active."""

    def enter(self, tx: Translator) -> tuple[ExitVariable, VariableTracker]:
        begin, end, function = TRANSFORMS[self.kind]
        entered = self._add(tx.output, function, *self.given)
        level = tx.output.begin_transform(begin, self.given)

        def leave(tx: Translator) -> None:
            self._add(tx.output, leave_mode, entered)
            tx.output.end_transform(end)

        exit = ExitVariable(leave, guards=self.guards)
        return exit, ConstantVariable(level, guards=self.guards)


class OverridesOffVariable(ModeVariable):
    """A context in which the classes of tensors are not asked what operations give."""

    def enter(self, tx: Translator) -> tuple[ExitVariable, VariableTracker]:
        before = tx.output.overrides_off
        tx.output.set_overrides_off(True)

        def leave(tx: Translator) -> None:
            tx.output.set_overrides_off(before)

        exit = ExitVariable(leave, guards=self.guards)
        return exit, ConstantVariable(None, guards=self.guards)


@tracker_class
class InsideVariable(VariableTracker):
    """What nobody asks for anything but its class: what `as` gets of such a context, or the handle
    of a hook."""

    kind: type
    """Its class."""
    place: int
    """The instruction to leave to Python, should it be needed as an object."""

    def python_type(self) -> type:
        return self.kind

    def reconstruct(self, codegen: Codegen) -> None:
        raise RestartAnalysis(self.place, f"a {self.kind.__name__} lives on")


def set_grad_mode(tx: Translator, mode: bool) -> None:
    """Have the graph, and the operators of the translation from here on, use this mode."""
    output = tx.output
    node = output.graph.create_node("call_function", set_grad_enabled, (mode,))
    output.note_node(node, None, NO_GUARDS)
    output.side_effects.changes += 1
    _note(output, "grad_enabled", mode)


def _note(output: Output, name: str, value: object) -> None:
    """What is set is this from here on."""
    before = getattr(output, name)
    setattr(output, name, value)
    output.trail.append(lambda: setattr(output, name, before))
