"""Modules that find out the shapes of their parameters when they are first called.

What does that is the program's own and cannot stand in a graph. Usually the graph is broken before
such a call, and the module is an ordinary one at the next. Where the program has asked for one
graph there is no breaking it: the module is made ready first, outside of the capture, which then
begins again. So it runs earlier than the program has it, and only where nobody could tell: nothing
has been drawn, changed or set before it in the frame. It gets tensors without data, of which it may
only ask what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeGuard

import torch
from torch.nn.modules.lazy import LazyModuleMixin

from stepper.native.exc import NativeError, PrepareFirst, unimplemented
from stepper.native.variables.base import Arguments, Keywords, LazyVariableTracker
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.lists import BaseListVariable
from stepper.native.variables.named_tuple import NamedTupleVariable
from stepper.native.variables.tensor import TensorVariable
from stepper.native.versions import FakeTensor, TorchDispatchMode, makes_ready
from stepper.support.outside import comes_from_outside

if TYPE_CHECKING:
    from stepper.native.protocols import Translator
    from stepper.native.variables.base import VariableTracker


class _WithoutData(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """Refuses operators on tensors that have no data."""

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        if any(issubclass(each, FakeTensor) for each in types):
            raise unimplemented("a lazy module that looks at the data of what it is called with")
        return func(*args, **(kwargs or {}))


def is_to_be_prepared(module: torch.nn.Module, tx: Translator) -> TypeGuard[LazyModuleMixin]:
    """Whether a module is lazy, not yet ready, and has to be in the graph."""
    lazy = isinstance(module, LazyModuleMixin) and "_initialize_hook" in module.__dict__
    return lazy and tx.output.may_prepare()


def prepare(
    tx: Translator, module: LazyModuleMixin, args: Arguments, kwargs: Keywords
) -> Exception:
    """To be raised at a call of the module."""
    infer = makes_ready(module)
    if infer is None:
        return unimplemented("a lazy module with other hooks")
    values = [_example(tx, arg) for arg in args]
    named = {name: _example(tx, arg) for name, arg in kwargs.items()}

    def make_ready() -> None:
        try:
            with _WithoutData():  # type: ignore[no-untyped-call]  # torch leaves it untyped
                infer(module, tuple(values), named)
        except NativeError:
            raise
        except Exception as error:
            if comes_from_outside(error):
                raise
            raise unimplemented(f"{type(error).__name__}: {error}") from None

    return PrepareFirst(make_ready, f"lazy module {type(module).__qualname__} is made ready")


def _example(tx: Translator, arg: VariableTracker) -> object:
    """What stands for an argument."""
    arg = tx.output.side_effects.latest(arg)
    if isinstance(arg, LazyVariableTracker):
        return arg.value
    if isinstance(arg, TensorVariable):
        if not all(type(n) is int for n in arg.fake.shape):
            raise unimplemented("a lazy module that is called with symbolic sizes")
        return arg.fake
    if isinstance(arg, ConstDictVariable):
        return {key: _example(tx, item) for key, item in arg.items.items()}
    if isinstance(arg, BaseListVariable):
        items = [_example(tx, item) for item in arg.items]
        kind = arg.python_type()
        return kind(*items) if isinstance(arg, NamedTupleVariable) else kind(items)
    return arg.as_python_constant()
