"""What the modules of samples share: how a sample is registered, and tensors to call it with.

A sample is a function as people write it, with arguments; each shows one thing, and its name says
which. Both engines are asked to capture them.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

Sample = tuple[Callable[..., Any], tuple[Any, ...]]

_samples: dict[str, list[Sample]] = {}


def sample(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function, which is called with these."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _samples.setdefault(function.__module__, []).append((function, args))
        return function

    return register


def samples_of(*modules: types.ModuleType) -> list[Sample]:
    """All functions that modules have registered, in their order."""
    return [each for module in modules for each in _samples[module.__name__]]


def T(*size: int) -> torch.Tensor:
    """A tensor of this size: 1.0, 2.0, 3.0 and so on."""
    return torch.arange(1.0, torch.Size(size).numel() + 1).reshape(size)
