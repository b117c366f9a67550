"""Backends by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.fx import GraphModule

from stepper.native.versions import named_backend
from stepper.support.words import callable_name, in_words

Backend = Callable[[GraphModule, list[Any]], Callable[..., object]]
"""What compiles a graph, for inputs such as these."""

_found: dict[str, Backend] = {}
"""Backends that were asked for by name."""


def eager(gm: GraphModule, example_inputs: list[object]) -> Callable[..., object]:
    """Run the graph as it is."""
    forward: Callable[..., object] = gm.forward
    return forward


def lookup(backend: str | Backend) -> Backend:
    """The backend of this name; a callable is its own.

    Raises:
        ValueError: there is none.
    """
    if callable(backend):
        return backend
    if backend == "eager":
        return eager
    found = named_backend(backend)
    if found is None:
        raise ValueError(f"there is no backend {backend!r}")
    return _found.setdefault(backend, found)


def backend_name(backend: object) -> str:
    """A backend in a word: the name by which it was asked for, or a function's own."""
    if backend is eager:
        return "eager"
    named = (name for name, found in _found.items() if found is backend)
    return next(named, "") or callable_name(backend) or in_words(backend)
