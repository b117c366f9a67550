"""The check that a class does not count as a subclass of an abstract one."""

from __future__ import annotations

import abc
import weakref


class NotSubclass:
    """Whether a class still does not count as a subclass of an abstract one; holds neither."""

    __slots__ = ("_asked_at", "_kind", "_of")

    def __init__(self, kind: type, of: type) -> None:
        self._kind, self._of = weakref.ref(kind), weakref.ref(of)
        self._asked_at: object = None

    def __call__(self) -> bool:
        registered = abc.get_cache_token()
        if registered != self._asked_at:
            kind, of = self._kind(), self._of()
            if kind is None or of is None or issubclass(kind, of):
                return False
            self._asked_at = registered
        return True
