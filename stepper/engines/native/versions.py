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


def call_of(module: torch.nn.Module) -> Callable[..., object]:
    """What calling a module runs, and `Module.compile` has compiled."""
    found: Callable[..., object] = module._call_impl
    return found
