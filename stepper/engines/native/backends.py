"""Backends by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Backend = Callable[[Any, list[Any]], Callable[..., Any]]


def eager(gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
    """Run the graph as it is."""
    forward: Callable[..., Any] = gm.forward
    return forward


def lookup(backend: Any) -> Backend:
    """The backend of this name; a callable is its own.

    Raises:
        ValueError: there is none.
    """
    if callable(backend):
        found: Backend = backend
        return found
    if backend == "eager":
        return eager
    from torch._dynamo.backends.registry import list_backends, lookup_backend

    if backend not in list_backends(()):
        raise ValueError(f"there is no backend {backend!r}")
    return lookup_backend(backend)
