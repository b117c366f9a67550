"""Private torch: what `torch.compile` leads to, where the native compiler serves a program's own.

What the compiler itself uses stands in `stepper.native.versions`, what both engines need in
`stepper.engines.common.versions`. Dynamo is imported by whoever calls `torch.compile`, and not for
this: `settings` and `stance` are for when it is there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

import torch


class Stance(Protocol):
    """What `torch.compiler.set_stance` sets."""

    @property
    def stance(self) -> str:
        """The name, as `force_eager`."""

    @property
    def backend(self) -> str | Callable[..., Any] | None:
        """What calls are compiled for, in place of what each asks for."""


DYNAMO = "torch._dynamo"
"""The module whose `optimize` and `reset` are called by what programs call."""


def dynamo() -> ModuleType:
    """Dynamo, once it is imported."""
    return sys.modules[DYNAMO]


def settings() -> ModuleType:
    """What the program sets for `torch.compile`."""
    found: ModuleType = torch._dynamo.config
    return found


def stance() -> Stance:
    """What `torch.compiler.set_stance` has set for this thread."""
    found: Stance = torch._dynamo.eval_frame._stance
    return found


def call_of_module(
    function: Callable[..., object],
) -> tuple[torch.nn.Module, Callable[..., object]] | None:
    """The module, and what is to be called, of a function that is one's call: `Module.compile` has
    that captured, and Dynamo's `OptimizedModule`, which may put a function around it."""
    if (
        getattr(function, "__code__", None)
        in torch._dynamo.external_utils.wrap_inline.__code__.co_consts
    ):
        called = getattr(function, "__wrapped__", None)
        return (called, called) if isinstance(called, torch.nn.Module) else None
    module = getattr(function, "__self__", None)
    if not isinstance(module, torch.nn.Module):
        return None
    if function == module._call_impl:
        return module, function
    return (module, module) if function == module.__call__ else None


def as_optimized_module(module: torch.nn.Module, context: object) -> torch.nn.Module:
    """What `torch.compile` makes of a module, also for those who ask whether it is that.

    context: is called with what is to be captured, and gives what captures it.
    """
    kind: Callable[..., torch.nn.Module] = torch._dynamo.OptimizedModule
    made = kind(module, context)
    vars(made)["_torchdynamo_orig_callable"] = module.forward
    return made
