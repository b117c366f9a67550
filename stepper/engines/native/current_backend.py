"""What each thread captures for, and the numbers under which guards know backends."""

from __future__ import annotations

import threading
from typing import Any

_current = threading.local()
_backends: dict[int, Any] = {}


def current_backend() -> Any:
    """What the thread captures for, None: nothing."""
    return getattr(_current, "backend", None)


def set_current_backend(backend: Any) -> None:
    """From now on, the thread captures for this one."""
    _current.backend = backend


def skip_backend_check() -> bool:
    """Whether entries for any backend may run: the thread does not capture."""
    return current_backend() is None


def register_backend(backend: Any) -> int:
    """The number under which guards know a backend."""
    key = id(backend)
    _backends[key] = backend
    return key


def lookup_backend(key: int) -> Any:
    """The backend of a number."""
    return _backends.get(key)
