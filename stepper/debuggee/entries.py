"""The entries of a compiler's cache as a program asks for them: a part of an engine's contract, see
`stepper.debuggee.engine`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from stepper.model.cache import CacheCheck, CacheEntry, CacheListing, Comparison, EntryView

if TYPE_CHECKING:
    from types import CodeType


class Entries(Protocol):
    """The entries of the compiler's cache, asked by a program: with a session or without one. See
    `stepper.cache`.

    Entries of all engines are numbered together, by `stepper.engines.common.known.ENTRY_NUMBERS`.
    Everything raises `stepper.model.cache.CacheError` for what cannot be done.
    """

    def __contains__(self, number: object, /) -> bool:
        """Whether the entry of that number is one of these."""

    def listing(self, function: str = "") -> CacheListing:
        """Every code that has entries; `function` is a glob."""

    def listed(self, code: CodeType) -> Sequence[int]:
        """The entries of a code, in the order of lookup; then drafts, then what is gone."""

    def facts(self, number: int) -> CacheEntry:
        """What is known of an entry now."""

    def view(self, number: int) -> EntryView:
        """One entry, whole."""

    def qualname(self, number: int) -> str:
        """The name of the function whose entry it is."""

    def transformed(self, number: int) -> CodeType | None:
        """The code that an entry runs; None when it is gone."""

    def graph(self, number: int) -> object | None:
        """The graph that its code calls; None when it is gone, or nobody kept it."""

    def original(self, number: int) -> CodeType:
        """The code for which it was compiled."""

    def check(self, code: CodeType, f_locals: dict[str, object]) -> CacheCheck:
        """Run the locals of a call against all entries of a code."""

    def execute(
        self, number: int, f_locals: dict[str, object], *, compare: bool
    ) -> tuple[object, BaseException | None, Comparison | None]:
        """Run an entry by hand: the result, or the exception that came in its place; and what
        differs from what eager gives, if it is to be compared."""

    def clone(self, number: int, drop: tuple[int, ...], add: tuple[str, ...]) -> int:
        """A draft with other guards; returns its number."""

    def edit(self, number: int, text: str) -> int:
        """A draft with other bytecode; returns its number."""

    def register(self, number: int) -> int:
        """Put a draft into the cache."""

    def remove(self, number: int) -> str:
        """Take it out again, or throw a draft away. Returns what was done."""
