"""One entry tried in a lookup: what its checks say to the call, and how that is told.

The verdict over the whole entry is Dynamo's and known before: of one that matched every guard has
passed, of one that did not the first that fails when it is asked again is the one that failed. When
none does, it is among those that cannot be asked; if that is a single one, it is known after all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stepper.debuggee.described import Described
from stepper.engines.common.lookup_walk import died
from stepper.engines.common.lookup_words import (
    OTHER_BACKEND,
    backend_check,
    entry_notes,
    notes,
    refusal_text,
)
from stepper.engines.dynamo.cache import backend_name
from stepper.engines.dynamo.lookup_programs import Candidate, region_name
from stepper.engines.dynamo.lookup_words import checked
from stepper.engines.dynamo.safe_reader import OF_A_DICT, Answer, SafeReader
from stepper.model.cache import GuardRow, Verdict
from stepper.model.lookup import Check, CheckedGuard, Difference, UnmetEntry

_IDENTICAL_ONLY: Any = object.__eq__


class Tried(NamedTuple):
    """An entry and what its checks said."""

    candidate: Candidate
    guards: tuple[CheckedGuard, ...]
    """All its rows, asked or not."""
    checks: tuple[Check, ...]
    """The rows that were asked."""
    unknown: tuple[GuardRow, ...]
    """The guards that could not be asked."""
    backend: Verdict
    matches: bool
    failing: GuardRow | None = None
    """The guard that failed; None: all passed, or it is not known which."""
    executed: int = 0
    """How many of its guards were run."""
    behind: tuple[Check, ...] = ()
    """In a miss, the guards behind the one that failed that would have failed too."""
    nanoseconds: int | None = None
    """How long Dynamo takes for all its guards, where it matches."""

    @property
    def unmet(self) -> UnmetEntry:
        """What a recording has of it where the lookup is not told."""
        return UnmetEntry.of(self.candidate.label, self.guards, (*self.checks, *self.behind))

    @property
    def differences(self) -> Sequence[Difference]:
        """In what the value of the guard that failed is not as it wants it."""
        return self.checks[-1].differences if self.failing is not None else ()


def try_entry(
    candidate: Candidate, backend: Any, reader: SafeReader, *, matches: bool, hit: bool
) -> Tried:
    """Ask an entry's checks about a call.

    Args:
        backend: the call's; None: not known.
        reader: the call's values.
        matches: whether Dynamo has found that it matches.
        hit: whether the lookup has found an entry; else it is also asked what would have failed
            behind the guard that did.
    """
    same = Verdict.PASS if matches else _same_backend(candidate, backend)
    if not candidate.valid:
        guards = candidate.own_rows
        dead = Check(0, Verdict.FAIL, why=died(candidate.dead))
        return Tried(candidate, guards, (dead,), (), same, False)
    own: tuple[Check, ...] = ()
    if not candidate.precompiled:
        ours, theirs = backend_name(candidate.backend), backend_name(backend)
        own = (backend_check(ours, theirs, same),)
    if same is Verdict.FAIL:
        return Tried(candidate, candidate.own_rows, own, (), same, False)
    candidate.read()
    guards = candidate.guards()
    answers, verdicts, fails_at = _ask(candidate, reader, matches)
    behind = () if hit else _behind(candidate, guards, reader, fails_at)
    # Where one may not be asked again, neither may all.
    asked = (each.verdict is Verdict.PASS or each.why is OF_A_DICT for each in answers)
    askable = matches and reader.timed and all(asked)
    spent = candidate.time(reader) if askable else None
    unknown = [at for at, verdict in enumerate(verdicts) if verdict is Verdict.UNKNOWN]
    if not matches and fails_at is None and len(unknown) == 1 and same is Verdict.PASS:
        fails_at = unknown[0]
        verdicts[fails_at] = Verdict.FAIL
        del answers[fails_at + 1 :], verdicts[fails_at + 1 :]
    found = [
        checked(len(own) + at, candidate.checks[at], answer, verdict, guards[len(own) + at])
        for at, (answer, verdict) in enumerate(zip(answers, verdicts, strict=True))
    ]
    failing = None if fails_at is None else candidate.checks[fails_at].row
    hidden = tuple(candidate.checks[at].row for at in unknown)
    if not matches and candidate.tree is not None and candidate.remembers:
        candidate.remember()  # what failed moves ahead
    return Tried(
        candidate, guards, (*own, *found), hidden, same, matches, failing, len(found), behind, spent
    )


def _ask(
    candidate: Candidate, reader: SafeReader, matches: bool
) -> tuple[list[Answer], list[Verdict], int | None]:
    """What the checks answer, up to the first that fails, and which one that is."""
    answers: list[Answer] = []
    verdicts: list[Verdict] = []
    scope = candidate.scope
    for index, check in enumerate(candidate.checks):
        answer = reader.ask(check, scope)
        answers.append(answer)
        verdicts.append(Verdict.PASS if matches else answer.verdict)
        if not matches and answer.verdict is Verdict.FAIL:
            return answers, verdicts, index
    return answers, verdicts, None


def _behind(
    candidate: Candidate, guards: Sequence[CheckedGuard], reader: SafeReader, fails_at: int | None
) -> tuple[Check, ...]:
    """What Dynamo does not look at any more once a guard has failed, and somebody who wants
    the call to match must know."""
    if fails_at is None:
        return ()
    found = []
    scope = candidate.scope
    offset = len(guards) - len(candidate.checks)
    for at in range(fails_at + 1, len(candidate.checks)):
        answer = reader.ask(candidate.checks[at], scope)
        if answer.verdict is Verdict.FAIL:
            place = offset + at
            found.append(checked(place, candidate.checks[at], answer, Verdict.FAIL, guards[place]))
    return tuple(found)


def _same_backend(candidate: Candidate, backend: Any) -> Verdict:
    """Whether an entry is of the call's backend, as Dynamo compares them."""
    ours = candidate.backend
    if candidate.precompiled or backend is None or ours is backend:
        return Verdict.PASS
    kind = type(ours)
    if kind is not type(backend):
        return Verdict.FAIL
    if getattr(kind, "__eq__", None) is _IDENTICAL_ONLY:
        return Verdict.FAIL
    if kind.__module__.partition(".")[0] == "torch":
        return Verdict.PASS if ours == backend else Verdict.FAIL
    return Verdict.UNKNOWN


def reason(tried: Tried) -> str:
    """Why an entry does not match: the guard that failed, and in what; empty: it does."""
    if tried.matches:
        return ""
    if not tried.candidate.valid:
        return died(tried.candidate.dead)
    if tried.backend is Verdict.FAIL:
        return OTHER_BACKEND
    if tried.failing is None:
        names = ", ".join(f"{row.kind} {row.source}".strip() for row in tried.unknown[:3])
        return "one that cannot be asked again" + (f" ({names})" if names else "")
    check = tried.checks[-1]
    return refusal_text(tried.guards[check.place], check)


def tried_notes(tried: Tried) -> dict[str, Described]:
    """The locals of the moment before an entry is tried."""
    candidate = tried.candidate
    asked = tried.backend is not Verdict.FAIL and candidate.valid
    checks, of = tried.checks if asked else None, len(candidate.checks)
    return entry_notes(candidate.label, reason(tried), checks, tried.executed, of)


def region_notes(region: int) -> dict[str, Any]:
    """The locals of the moment before the entries of a region."""
    return notes(region=region_name(region), verdict="pass")
