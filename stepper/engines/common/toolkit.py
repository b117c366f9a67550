"""Copies of cache entries with other guards or bytecode: made, put into the cache, taken out again.

What a copy gives up is said at it (`stepper.engines.common.edits`). How it is guarded, and how it
gets into the cache, only the engine knows.
"""

from __future__ import annotations

from types import CodeType
from typing import Generic

from stepper.engines.common.assembling import assemble
from stepper.engines.common.edits import (
    EDITED,
    UNCHECKED,
    compile_guard,
    implied,
    lost,
    short,
    unique,
)
from stepper.engines.common.graphs import code_bytes
from stepper.engines.common.known import E, Numbered
from stepper.model.cache import CacheError, EntryState, Origin


class Toolkit(Generic[E]):
    """Makes, registers and removes entries of a book."""

    def __init__(self, book: Numbered[E]) -> None:
        self._book = book

    # -- the engine's part -------------------------------------------------------------------

    def _why_dead(self, entry: E) -> str:
        """Why an entry can be neither copied nor registered; empty: it can."""
        raise NotImplementedError

    def _is_draft(self, entry: E) -> bool:
        """Whether an entry was made by hand and is not registered."""
        raise NotImplementedError

    def _make(
        self, entry: E, drop: tuple[int, ...], add: tuple[str, ...], code: CodeType | None
    ) -> E:
        """A draft like an entry; `code`: the edited one, None: the entry's."""
        raise NotImplementedError

    def _recode(self, draft: E, code: CodeType) -> None:
        """A draft has other code now."""
        raise NotImplementedError

    def _beware(self, draft: E) -> tuple[str, ...]:
        """What is to be minded when a draft is put into the cache."""
        raise NotImplementedError

    def _put_in(self, draft: E, original: CodeType) -> None:
        """Put a draft into the cache of a code."""
        raise NotImplementedError

    def _take_out(self, entry: E) -> None:
        """Take an entry out of the cache.

        Raises:
            CacheError: it is not in there, or cannot be taken out.
        """
        raise NotImplementedError

    def _retire(self, draft: E) -> None:
        """A draft is thrown away."""
        raise NotImplementedError

    # -- what is done ------------------------------------------------------------------------

    def clone(self, number: int, drop: tuple[int, ...] = (), add: tuple[str, ...] = ()) -> E:
        """A draft like an entry, without the guards of some rows and with others.

        Raises:
            CacheError: there is no such entry or row, or an expression is none.
        """
        with self._book.held():
            return self._copy(self._book.entry(number), drop, add, None)

    def edit(self, number: int, text: str) -> E:
        """A draft like an entry, with other bytecode; a draft is changed itself.

        Raises:
            CacheError: there is no such entry, its code is out of reach, the text cannot be made
                into code, or the assembler is missing.
        """
        with self._book.held():
            entry = self._book.entry(number)
            old = self._book.code_of(entry)
            if old is None:
                why = self._why_dead(entry)
                raise CacheError(f"the code of {entry.label} is out of reach: {why}")
            code = assemble(text, old)
            if not self._is_draft(entry):
                return self._copy(entry, (), (), code)
            self._recode(entry, code)
            entry.change(
                edits=unique(entry.facts.edits, EDITED),
                warnings=unique(entry.facts.warnings, UNCHECKED),
                code_bytes=code_bytes(code),
            )
            return entry

    def register(self, number: int) -> E:
        """Put a draft into the cache, and say what that makes unsound.

        Raises:
            CacheError: it is none, is registered already, or what it depends on has died.
        """
        with self._book.held():
            entry = self._book.entry(number)
            if not self._is_draft(entry):
                if entry.facts.origin is not Origin.MADE:
                    raise CacheError(f"{entry.label} was not made by hand: copy it first")
                gone = entry.facts.state is EntryState.EVICTED
                what = f"gone: {entry.facts.reason}" if gone else "registered already"
                raise CacheError(f"{entry.label} is {what}")
            original, why = entry.code.ref(), self._why_dead(entry)
            if original is None or why:
                why = why or "its function was deleted"
                raise CacheError(f"{entry.label} cannot be registered: {why}")
            self._book.look_at(original)
            self.warn(entry, self._beware(entry))
            self._put_in(entry, original)
            self._book.look_at(original)
            return entry

    def remove(self, number: int) -> E:
        """Take an entry out of the cache. A copy is a draft again, and a draft is thrown away.

        Raises:
            CacheError: there is none of that number, or it cannot be taken out.
        """
        with self._book.held():
            entry = self._book.entry(number)
            if self._is_draft(entry):
                self._retire(entry)
                self._book.discard(entry)
                entry.change(state=EntryState.EVICTED, reason="thrown away")
            else:
                self._take_out(entry)
            return entry

    def warn(self, entry: E, about: tuple[str, ...]) -> None:
        """Say at an entry that is put into the cache what is to be minded."""
        entry.change(warnings=unique(entry.facts.warnings, *about))

    def _copy(
        self, entry: E, drop: tuple[int, ...], add: tuple[str, ...], code: CodeType | None
    ) -> E:
        if why := self._why_dead(entry):
            raise CacheError(f"{entry.label} cannot be copied: {why}")
        rows = self._book.rows(entry)
        for index in drop:
            if not 0 <= index < len(rows):
                raise CacheError(f"{entry.label} has no guard {index}")
        for text in add:
            compile_guard(text)
        made = self._make(entry, drop, add, code)
        edits = [f"without {short(rows[index])}" for index in drop] + [
            f"with {text}" for text in add
        ]
        warnings = [lost(rows[index]) for index in drop]
        if code is not None:
            edits.append(EDITED)
            warnings.append(UNCHECKED)
        copied = entry.facts
        made.change(
            compile_id=copied.compile_id,
            origin=Origin.MADE,
            state=EntryState.DRAFT,
            graph_nodes=copied.graph_nodes,
            copied_from=entry.id,
            edits=unique(copied.edits, *edits),
            warnings=unique(copied.warnings if copied.origin is Origin.MADE else (), *warnings),
        )
        return made

    def _hidden(self, entry: E) -> list[int]:
        """The entries whose calls pass an entry's guards, too."""
        mine = self._book.rows(entry)
        return [
            other.id
            for other in entry.code.entries
            if other is not entry
            and other.facts.state is EntryState.VALID
            and (theirs := self._book.rows(other))
            and implied(mine, theirs)
        ]
