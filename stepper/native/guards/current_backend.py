"""What each thread captures for, and the numbers under which guards know backends."""

from __future__ import annotations

from collections.abc import Callable

from stepper._C import current_backend, parts_will_do

__all__ = [
    "current_backend",
    "numbered",
    "parts_will_do",
    "skip_backend_check",
]


def skip_backend_check() -> bool:
    """Whether entries for any backend may run: the thread does not capture."""
    return current_backend() is None


def numbered(backend: object) -> tuple[int, Callable[[int], object]]:
    """A number under which a guard knows a backend, and what finds it by that: they live together,
    no longer than the guard."""
    return id(backend), {id(backend): backend}.__getitem__
