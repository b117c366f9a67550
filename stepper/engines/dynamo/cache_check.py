"""Arguments against the cache: every entry's verdict, who wins, and what the winner computes.

Asking changes nothing: no entry moves, nothing is counted, nothing is compiled. The guards run as
they do in a lookup, on the arguments themselves; what is run is run on copies.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

import msgspec

from stepper.debuggee.evaluator import describe_exception
from stepper.engines.common import arguments
from stepper.engines.common.entries import Runners, check_of
from stepper.engines.dynamo.cache import BOOK, KnownEntry, locked
from stepper.engines.dynamo.calling import call
from stepper.engines.dynamo.toolkit import Toolkit
from stepper.model.cache import (
    CacheCheck,
    CacheError,
    EntryCheck,
    EntryState,
    GuardCheck,
    GuardRow,
    Origin,
)

TOOLKIT = Toolkit(BOOK)
"""The one of this process, as its book is."""


def check(
    code: CodeType, f_locals: dict[str, Any], *, backend: str = "", compare: bool = False
) -> CacheCheck:
    """Run the locals of a call against all entries of a code.

    Raises:
        CacheError: another thread is compiling.
    """
    with locked():
        known = BOOK.look_at(code)
        found: list[EntryCheck] = []
        rows: dict[int, tuple[GuardRow, ...]] = {}
        winner: KnownEntry | None = None
        for entry in known.listed:
            if entry.facts.state in (EntryState.NEW, EntryState.EVICTED):
                continue
            result, rows[entry.id] = _check_entry(entry, f_locals, backend)
            if winner is None and result.matches and result.eligible:
                winner = entry
                result = msgspec.structs.replace(result, wins=True)
            found.append(result)
        compared = None
        if compare and winner is not None:
            compared = runners(winner).compared(f_locals)
        return check_of(known.id, f_locals, found, rows, compared)


def runners(entry: KnownEntry) -> Runners:
    """What runs an entry by hand, whatever its guards say.

    Raises:
        CacheError: its code is gone.
    """
    code, original, f_globals = runnable(entry)
    return Runners(
        lambda local: call(code, f_globals, local, original),
        lambda local: call(original, f_globals, local, original),
    )


def runnable(entry: KnownEntry) -> tuple[CodeType, CodeType, dict[str, Any]]:
    """An entry's code, the code that it was made of, and the globals that it runs with.

    Raises:
        CacheError: its code is gone.
    """
    wrapper, transformed = BOOK.parts(entry)
    original = entry.code.ref()
    if transformed is None or original is None:
        raise CacheError(f"{entry.label} cannot be run: {entry.facts.reason or 'its code is gone'}")
    scope = wrapper.global_scope if wrapper is not None else None
    f_globals = scope["G"] if scope else arguments.function_of(original).__globals__
    return transformed, original, f_globals


def _check_entry(
    entry: KnownEntry, f_locals: dict[str, Any], backend: str
) -> tuple[EntryCheck, tuple[GuardRow, ...]]:
    eligible, why = _eligible(entry, backend)
    facts = entry.facts
    if facts.state is EntryState.INVALID:
        return EntryCheck(entry.id, False, eligible=False, reason=facts.reason), ()
    try:
        if entry.draft is not None:
            passed, reason, checks = _check_draft(entry, f_locals)
            return (
                EntryCheck(
                    entry.id, passed, eligible=eligible, reason=reason or why, checks=checks,
                    executed=len(checks),
                ),
                entry.draft.rows,
            )  # fmt: skip
        tree = BOOK.tree(entry)
        result, checks = tree.run(f_locals)
    except CacheError as error:
        return EntryCheck(entry.id, False, eligible=False, reason=str(error)), ()
    except Exception as error:
        reason = f"a guard raised {describe_exception(error)}"
        return EntryCheck(entry.id, False, eligible=eligible, reason=reason), ()
    return (
        EntryCheck(
            entry.id, result.passed, eligible=eligible, reason=result.reason or why, checks=checks,
            executed=result.executed,
        ),
        tree.rows,
    )  # fmt: skip


def _check_draft(
    entry: KnownEntry, f_locals: dict[str, Any]
) -> tuple[bool, str, tuple[GuardCheck, ...]]:
    """One that was made by hand asks the guards of the entry that it was copied from."""
    draft = entry.draft
    result = draft.wrapper.root.check_verbose(f_locals)
    checks = draft.ask(f_locals)
    reason = "" if result.result else " ".join(str(part) for part in result.verbose_code_parts)
    return bool(result.result), reason.partition("  # ")[0].strip(), checks


def _eligible(entry: KnownEntry, backend: str) -> tuple[bool, str]:
    facts = entry.facts
    if facts.state is EntryState.DRAFT:
        return False, "it is a draft: the compiler does not know it"
    if facts.origin is Origin.COMPILED and backend and facts.backend != backend:
        return False, f"it is of the backend {facts.backend}"
    return True, ""
