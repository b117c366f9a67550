"""Arguments against the cache: every entry's verdict, who wins, and what the winner computes.

Asking changes nothing: whether an entry matches is what the cache's own verbose lookup says, which
neither counts nor moves. What is run by hand is run with nothing captured or looked up meanwhile.
"""

from __future__ import annotations

from types import CodeType

from stepper import _C
from stepper.engines.common import arguments, witnesses
from stepper.engines.common.entries import Runners, check_of
from stepper.engines.native.cache import BOOK, KnownEntry, globals_of
from stepper.engines.native.entry_guards import ask, guard_rows
from stepper.model.cache import (
    CacheCheck,
    EntryCheck,
    EntryState,
    GuardRow,
    Verdict,
    WitnessSearch,
)


def check(
    code: CodeType, f_locals: dict[str, object], *, backend: str = "", compare: bool = False
) -> CacheCheck:
    """Run the locals of a call against all entries of a code.

    Raises:
        CacheError: the code's globals are gone.
    """
    f_globals = globals_of(code)
    known = BOOK.look_at(code)
    with uncaptured():
        reports = _C.code_cache(code).explain(f_locals, f_globals)
    verdicts = {id(report.entry): report for report in reports}
    found: list[EntryCheck] = []
    rows: dict[int, tuple[GuardRow, ...]] = {}
    winner: KnownEntry | None = None
    for entry in known.listed:
        alive = entry.ref()
        report = verdicts.get(id(alive)) if alive is not None else None
        if alive is None or report is None:
            if entry.facts.state is EntryState.INVALID:
                reason = entry.facts.reason
                found.append(EntryCheck(entry.id, False, eligible=False, reason=reason))
            continue
        rows[entry.id] = guard_rows(alive)
        eligible = not backend or entry.facts.backend == backend
        failed = next((str(part.guard) for part in report.guards if not part.passed), "")
        wins = winner is None and report.matched and eligible
        winner = entry if wins else winner
        with uncaptured():
            checks = ask(alive, f_locals, f_globals)
        found.append(
            EntryCheck(
                entry.id,
                report.matched,
                eligible=eligible,
                wins=wins,
                reason=failed
                or ("" if eligible else f"it is of the backend {entry.facts.backend}"),
                checks=checks,
                executed=len(report.guards),
            )
        )
    compared = None
    if compare and winner is not None:
        compared = runners(winner).compared(f_locals)
    return check_of(known.id, f_locals, found, rows, compared)


def runners(entry: KnownEntry) -> Runners:
    """What runs an entry by hand, whatever its guards say.

    Raises:
        CacheError: its code is gone.
    """
    found, original = BOOK.parts(entry)
    f_globals = globals_of(original)

    def run_entry(local: dict[str, object]) -> object:
        with uncaptured():
            return _C.finish(arguments.call(found.code, f_globals, local, original))

    def run_original(local: dict[str, object]) -> object:
        with uncaptured():
            return arguments.call(original, f_globals, local, original)

    return Runners(run_entry, run_original)


def find_witness(entry: KnownEntry, number: int, f_locals: dict[str, object]) -> WitnessSearch:
    """Try inputs that a guard of an entry refuses.

    Args:
        entry: the entry.
        number: the guard's row.
        f_locals: the call to begin from.

    Raises:
        CacheError: there is no such guard, its code is gone, or the process cannot be copied.
    """
    found, original = BOOK.parts(entry)
    rows, f_globals = guard_rows(found), globals_of(original)

    def refused(local: dict[str, object]) -> list[GuardRow]:
        with uncaptured():
            checks = ask(found, local, f_globals)
        return [rows[each.guard] for each in checks if each.verdict is not Verdict.PASS]

    compared = runners(entry).compared
    tried = witnesses.Tried(entry.id, entry.label, rows, f_globals, refused, compared)
    return witnesses.find_witness(tried, number, f_locals)


def uncaptured() -> _C.Capturing:
    """Nothing that this thread calls is captured or looked up in this block."""
    return _C.Capturing(None, _C.current_backend())
