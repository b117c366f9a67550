"""Backends by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepper.engines.common.words import callable_name, object_text

_found: dict[str, Any] = {}
"""Backends that were asked for by name."""

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
    named: Backend = _found.setdefault(backend, lookup_backend(backend))
    return named


def backend_name(backend: object) -> str:
    """A backend in a word: the name by which it was asked for, or a function's own."""
    if backend is eager:
        return "eager"
    named = (name for name, found in _found.items() if found is backend)
    return next(named, "") or callable_name(backend) or object_text(backend)
