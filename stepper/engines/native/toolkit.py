"""Copies of entries of the native engine, with other guards or bytecode: made, put in, taken out.

An entry is code and a check, and the check is made of parts that can be asked one by one. So a copy
has a check of its own, written of the parts that are kept and of what was added, and is an entry
like any other: it dies with the same objects, as far as its guards still know them by identity.
What it gives up is said as for Dynamo's entries (`stepper.engines.common.edits`).
"""

from __future__ import annotations

import itertools
import weakref
from types import CodeType

from stepper import _C
from stepper.engines.common.edits import named
from stepper.engines.common.toolkit import Toolkit
from stepper.engines.native.cache import BOOK, KnownEntry
from stepper.model.cache import CacheError, EntryState, Origin
from stepper.native.guards.check_function import CheckFunctionManager, CopiedGuards
from stepper.native.runtime.cache_entry import GuardedCode

_copies = itertools.count(1)


class NativeToolkit(Toolkit[KnownEntry]):
    """Makes entries of `stepper._C`'s caches."""

    def _why_dead(self, entry: KnownEntry) -> str:
        found, _ = BOOK.parts(entry)
        return "" if found.valid else str(found.reason)

    def _is_draft(self, entry: KnownEntry) -> bool:
        return entry.draft is not None

    def _make(
        self,
        entry: KnownEntry,
        drop: tuple[int, ...],
        add: tuple[str, ...],
        code: CodeType | None,
    ) -> KnownEntry:
        found, original = BOOK.parts(entry)
        kept = [index for index in range(len(found.manager.parts)) if index not in drop]
        manager = CopiedGuards(found.manager, kept, add, f"__guard_of_copy_{next(_copies)}")
        # A code object of its own: what runs says by it which entry it is.
        draft = _entry(found, original, code or found.code.replace(), manager)
        made = BOOK.recognize(entry.code, draft)
        made.draft = draft
        return made

    def _recode(self, draft: KnownEntry, code: CodeType) -> None:
        found, original = BOOK.parts(draft)
        _hold(draft, _entry(found, original, code, found.manager))

    def _beware(self, draft: KnownEntry) -> tuple[str, ...]:
        first = "it is tried first, until another entry has served a call"
        hidden = self._hidden(draft)
        return (first, f"calls of {named(hidden)} pass its guards, too") if hidden else (first,)

    def _put_in(self, draft: KnownEntry, original: CodeType) -> None:
        draft.change(state=EntryState.VALID)
        _C.code_cache(original).add(BOOK.parts(draft)[0])
        draft.draft = None

    def _take_out(self, entry: KnownEntry) -> None:
        """The next call that it would have served is captured anew."""
        found, original = BOOK.parts(entry)
        cache = _C.code_cache(original)
        if found not in cache.entries:
            raise CacheError(f"{entry.label} is {entry.facts.state}: it is not in the cache")
        if entry.facts.origin is Origin.MADE:
            _hold(entry, _entry(found, original, found.code, found.manager))
            entry.change(state=EntryState.DRAFT, position=None, reason="")
        elif entry.facts.state is EntryState.VALID:
            BOOK.ended(entry, EntryState.EVICTED, "it was taken out by hand")
        cache.remove(found)

    def _retire(self, draft: KnownEntry) -> None:
        draft.draft = None


TOOLKIT = NativeToolkit(BOOK)
"""The one of this process, as its book is."""


def _hold(entry: KnownEntry, draft: GuardedCode) -> None:
    entry.draft, entry.ref = draft, weakref.ref(draft)


def _entry(
    like: GuardedCode, original: CodeType, code: CodeType, manager: CheckFunctionManager
) -> GuardedCode:
    """An entry like another one, that is in no cache yet."""
    made = GuardedCode(original, code, manager.check_fn, manager.parts, like.backend)
    made.manager, made.number, made.graph_code = manager, like.number, like.graph_code
    manager.bind(made)
    for reference, guarded in manager.lifelines:
        value = reference()
        if value is None:
            raise CacheError(f"{guarded} has died")
        made.dies_with(value, f"{guarded} died")
        del value
    return made
