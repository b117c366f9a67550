"""The guards of one cache entry, as an engine has them asked: all together, and each by itself."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from stepper.model.cache import GuardCheck, GuardRow


class Result(NamedTuple):
    """The compiler's verdict over an entry's guards."""

    passed: bool
    reason: str
    """The guard that fails, in the compiler's words."""
    executed: int
    """How many guards it ran."""


class EntryGuards(Protocol):
    """The guards of one entry. Asking them changes nothing: none moves, and nothing is counted."""

    @property
    def rows(self) -> tuple[GuardRow, ...]:
        """What to show, in the order of a lookup."""

    def run(self, f_locals: dict[str, Any]) -> tuple[Result, tuple[GuardCheck, ...]]:
        """The compiler's verdict over the locals of a call, and every guard's own beside it.

        Raises:
            Exception: a guard raised.
        """
