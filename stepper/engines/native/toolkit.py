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
from stepper.engines.common import assembler, graphs
from stepper.engines.common.edits import (
    EDITED,
    UNCHECKED,
    compile_guard,
    implied,
    lost,
    named,
    short,
    unique,
)
from stepper.engines.native.cache import BOOK, KnownEntry
from stepper.engines.native.entry_guards import guard_rows
from stepper.model.cache import CacheError, EntryState, Origin
from stepper.native.guards.check_function import CheckFunctionManager, CopiedGuards
from stepper.native.runtime.cache_entry import GuardedCode

_copies = itertools.count(1)


def clone(number: int, drop: tuple[int, ...] = (), add: tuple[str, ...] = ()) -> KnownEntry:
    """A draft like an entry, without the guards of some rows and with others.

    Raises:
        CacheError: there is no such entry or row, or an expression is none.
    """
    return _copy(number, drop, add, None)


def edit(number: int, text: str) -> KnownEntry:
    """A draft like an entry, with other bytecode; a draft is changed itself.

    Raises:
        CacheError: there is no such entry.
        AssemblyError: the text cannot be made into code.
    """
    entry = BOOK.entry(number)
    found, original = BOOK.parts(entry)
    code = assembler.from_text(text, found.code)
    if entry.draft is None:
        return _copy(number, (), (), code)
    _hold(entry, _entry(found, original, code, found.manager))
    entry.change(
        edits=unique(entry.facts.edits, EDITED),
        warnings=unique(entry.facts.warnings, UNCHECKED),
        code_bytes=graphs.code_bytes(code),
    )
    return entry


def register(number: int) -> KnownEntry:
    """Put a draft into the cache, and say what that makes unsound.

    Raises:
        CacheError: it is none, or what it depends on has died.
    """
    entry = BOOK.entry(number)
    if entry.draft is None:
        what = "registered already" if _made(entry) else "not made by hand: copy it first"
        raise CacheError(f"{entry.label} is {what}")
    found, original = BOOK.parts(entry)
    if not found.valid:
        raise CacheError(f"{entry.label} cannot be registered: {found.reason}")
    hidden = [
        other.id
        for other in BOOK.look_at(original).entries
        if other is not entry
        and other.facts.state is EntryState.VALID
        and (theirs := other.ref()) is not None
        and implied(guard_rows(found), guard_rows(theirs))
    ]
    about = ["it is tried first, until another entry has served a call"]
    if hidden:
        about.append(f"calls of {named(hidden)} pass its guards, too")
    entry.change(warnings=unique(entry.facts.warnings, *about), state=EntryState.VALID)
    _C.code_cache(original).add(found)
    entry.draft = None
    BOOK.look_at(original)
    return entry


def remove(number: int) -> KnownEntry:
    """Take an entry out of the cache: the next call that it would have served is captured anew. A
    copy is a draft again, and a draft is thrown away.

    Raises:
        CacheError: there is none of that number, or it is not in the cache.
    """
    entry = BOOK.entry(number)
    if entry.draft is not None:
        entry.draft = None
        entry.code.entries.remove(entry)
        del BOOK.entries[number]
        entry.change(state=EntryState.EVICTED, reason="thrown away")
        return entry
    found, original = BOOK.parts(entry)
    cache = _C.code_cache(original)
    if found not in cache.entries:
        raise CacheError(f"{entry.label} is {entry.facts.state}: it is not in the cache")
    if _made(entry):
        again = _entry(found, original, found.code, found.manager)
        _hold(entry, again)
        entry.change(state=EntryState.DRAFT, position=None, reason="")
    elif entry.facts.state is EntryState.VALID:
        BOOK.ended(entry, EntryState.EVICTED, "it was taken out by hand")
    cache.remove(found)
    return entry


def _made(entry: KnownEntry) -> bool:
    return entry.facts.origin is Origin.MADE


def _copy(
    number: int, drop: tuple[int, ...], add: tuple[str, ...], code: CodeType | None
) -> KnownEntry:
    entry = BOOK.entry(number)
    found, original = BOOK.parts(entry)
    if not found.valid:
        raise CacheError(f"{entry.label} cannot be copied: {found.reason}")
    rows = guard_rows(found)
    for index in drop:
        if not 0 <= index < len(rows):
            raise CacheError(f"{entry.label} has no guard {index}")
    for text in add:
        compile_guard(text)
    kept = [row.index for row in rows if row.index not in drop]
    manager = CopiedGuards(found.manager, kept, add, f"__guard_of_copy_{next(_copies)}")
    # A code object of its own: what runs says by it which entry it is.
    draft = _entry(found, original, code or found.code.replace(), manager)
    made = BOOK.recognize(entry.code, draft)
    made.draft = draft
    edits = [f"without {short(rows[index])}" for index in drop] + [f"with {text}" for text in add]
    warnings = [lost(rows[index]) for index in drop]
    if code is not None:
        edits.append(EDITED)
        warnings.append(UNCHECKED)
    made.change(
        compile_id=entry.facts.compile_id,
        origin=Origin.MADE,
        state=EntryState.DRAFT,
        graph_nodes=entry.facts.graph_nodes,
        copied_from=entry.id,
        edits=unique(entry.facts.edits, *edits),
        warnings=unique(entry.facts.warnings if _made(entry) else (), *warnings),
    )
    return made


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
