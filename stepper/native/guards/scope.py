"""What conditions can call, and what they ask of the world."""

from __future__ import annotations

import builtins
import sys
import types
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.modules import module as nn_module

from stepper._C import check_nn_module, check_obj_id, check_type_id, no_aliasing
from stepper.native import versions
from stepper.native.guards.class_dicts import module_of
from stepper.support.words import Classes


class GlobalState:
    """The state of torch that code can depend on, as it is when this is made."""

    def __init__(self) -> None:
        self.guard = versions.GlobalStateGuard()
        self.default_device = versions.default_device()
        self.grad_enabled = torch.is_grad_enabled()
        self.inference = torch.is_inference_mode_enabled()
        self.autocast = versions.autocast_is_on()
        self.torch_function = versions.is_torch_function_enabled()


_function_stack = versions.function_stack_size
_function_mode_at = versions.function_mode_at
_device_module = versions.DEVICE_MODULE
_gives_device = _device_module.DeviceContext
_dispatch_stack = versions.dispatch_stack_size
is_tracing = versions.is_tracing
"""Held, since each cached call asks them."""


def function_modes() -> int:
    """How many torch function modes, dispatch modes and traces are active: what they do to an
    operator is nobody's to know, but for that of `torch.set_default_device`, which is the lowest,
    and guarded by itself. `with torch.device(…)` has one of that class, too, and sets nothing."""
    of_functions = _function_stack()
    device = _device_module.CURRENT_DEVICE
    if of_functions or device is not None:
        lowest = _function_mode_at(0) if of_functions else None
        if type(lowest) is _gives_device and lowest.device == device:
            of_functions -= 1
        elif device is not None:
            of_functions += 1  # it is set, and taken off the stack
    return of_functions + _dispatch_stack() + is_tracing()


_HOOKS = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
    "_compiled_call_impl",
)  # fmt: skip


def has_hooks(module: Any) -> bool:
    """Whether calling a module does more than calling its `forward`."""
    fields = module.__dict__
    if "forward" in fields or "_call_impl" in fields:
        return True
    return any(fields.get(name) for name in _HOOKS)


HOOKS_OF_CALLS = (
    "_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks",
    "_global_backward_pre_hooks",
)  # fmt: skip
"""Torch's dictionaries of hooks that are called with every module."""


def is_called_plainly(module: torch.nn.Module) -> bool:
    """Whether calling a module is calling its `forward`, and nothing else of the program's."""
    plain = type(module).__call__ is torch.nn.Module.__call__ and not has_hooks(module)
    of_all = vars(nn_module)
    return plain and not any(of_all[name] for name in HOOKS_OF_CALLS)


def are_apart(written: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> bool:
    """Whether each of `written` has its memory for itself, among all of these."""
    places = [each.untyped_storage().data_ptr() for each in (*written, *others)]
    own = [place for place in places[: len(written)] if place]  # what is empty has none
    count = Counter(places)
    return all(count[place] == 1 for place in own)


SCOPE: dict[str, Any] = {
    # A program that replaces one of Python's has it for itself.
    "__builtins__": dict(builtins.__dict__),
    "___check_obj_id": check_obj_id,
    "___check_type_id": check_type_id,
    "___check_nn_module": check_nn_module,
    "___no_aliasing": no_aliasing,
    "___are_apart": are_apart,
    "___function_modes": function_modes,
    "___Tensor": torch.Tensor,
    "utils_device": versions.DEVICE_MODULE,
}
"""What conditions can call."""


_OF_C = Classes(types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)


_OF_NUMPY = ("numpy", "numpy.linalg", "numpy.fft")
"""Modules whose functions a program knows by their own names."""


def is_immortal(value: object) -> bool:
    """Whether an object may be held for as long as the program runs: nothing hangs on it."""
    kind = type(value)
    if module_of(kind) == "numpy":  # one of its functions, under its own name
        name = getattr(value, "__name__", "")
        rooms = (sys.modules.get(each) for each in _OF_NUMPY)
        return any(room is not None and vars(room).get(name) is value for room in rooms)
    return kind in _OF_C or (kind is type and not value.__flags__ & (1 << 9))  # type: ignore[attr-defined]  # its exact type was asked for
