"""One entry tried in a lookup: what its checks say to the call, and how that is told.

The verdict over the whole entry is Dynamo's and known before: of one that matched every guard has
passed, of one that did not the first that fails when it is asked again is the one that failed. When
none does, it is among those that cannot be asked; if that is a single one, it is known after all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stepper.debuggee.in_view import Described
from stepper.engines.common.lookup_walk import died
from stepper.engines.common.lookup_words import Difference, also_told, entry_told, time_text
from stepper.engines.dynamo.lookup_programs import Candidate, region_name
from stepper.engines.dynamo.lookup_words import differences
from stepper.engines.dynamo.quiet import Answer, Quiet
from stepper.model.cache import GuardRow, Verdict

_IDENTICAL_ONLY: Any = object.__eq__


class Tried(NamedTuple):
    """An entry and what its checks said."""

    candidate: Candidate
    answers: list[Answer]
    """As many as were run."""
    verdicts: list[Verdict]
    backend: Verdict
    matches: bool
    fails_at: int | None
    """Which check failed; None: all passed, or it is not known which."""
    nanoseconds: int
    also: tuple[tuple[GuardRow, str], ...] = ()
    """In a miss, the guards behind the one that failed that would have failed too, and how."""

    @property
    def failing(self) -> GuardRow | None:
        """The guard that failed; None: all passed, or it is not known which."""
        return None if self.fails_at is None else self.candidate.checks[self.fails_at].row

    @property
    def differences(self) -> list[Difference]:
        """In what the value of the guard that failed is not as it wants it."""
        if self.fails_at is None:
            return []
        row = self.candidate.checks[self.fails_at].row
        return differences(row, self.answers[self.fails_at], self.candidate.expected(row))


def try_entry(
    candidate: Candidate, backend: Any, quiet: Quiet, *, matches: bool, hit: bool
) -> Tried:
    """Ask an entry's checks about a call.

    Args:
        backend: the call's; None: not known.
        quiet: the call's values.
        matches: whether Dynamo has found that it matches.
        hit: whether the lookup has found an entry; else it is also asked what would have failed
            behind the guard that did.
    """
    same = Verdict.PASS if matches else _same_backend(candidate, backend)
    if not candidate.valid or same is Verdict.FAIL:
        return Tried(candidate, [], [], same, False, None, 0)
    candidate.read()
    answers: list[Answer] = []
    verdicts: list[Verdict] = []
    fails_at = None
    scope = candidate.scope
    for index, check in enumerate(candidate.checks):
        answer = quiet.ask(check, scope)
        answers.append(answer)
        verdicts.append(Verdict.PASS if matches else answer.verdict)
        if not matches and answer.verdict is Verdict.FAIL:
            fails_at = index
            break
    also = () if hit else _also(candidate, quiet, fails_at)
    spent = sum(answer.nanoseconds or 0 for answer in answers)
    unknown = [at for at, verdict in enumerate(verdicts) if verdict is Verdict.UNKNOWN]
    if not matches and fails_at is None and len(unknown) == 1 and same is Verdict.PASS:
        fails_at = unknown[0]
        verdicts[fails_at] = Verdict.FAIL
        del answers[fails_at + 1 :], verdicts[fails_at + 1 :]
    if not matches and candidate.tree is not None:
        candidate.remember()  # what failed moves ahead
    return Tried(candidate, answers, verdicts, same, matches, fails_at, spent, also)


def _also(
    candidate: Candidate, quiet: Quiet, fails_at: int | None
) -> tuple[tuple[GuardRow, str], ...]:
    """What Dynamo does not look at any more once a guard has failed, and somebody who wants
    the call to match must know."""
    if fails_at is None:
        return ()
    found = []
    scope = candidate.scope
    for check in candidate.checks[fails_at + 1 :]:
        answer = quiet.ask(check, scope)
        if answer.verdict is Verdict.FAIL:
            expected = candidate.expected(check.row)
            told = ", ".join(map(str, differences(check.row, answer, expected)))
            found.append((check.row, told or answer.why or "; ".join(check.row.code)))
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
        return "another backend"
    if tried.fails_at is None:
        hidden = [
            tried.candidate.checks[at].row
            for at, verdict in enumerate(tried.verdicts)
            if verdict is Verdict.UNKNOWN
        ]
        names = ", ".join(f"{row.kind} {row.source}".strip() for row in hidden[:3])
        return "one that cannot be asked again" + (f" ({names})" if names else "")
    row = tried.candidate.checks[tried.fails_at].row
    answer = tried.answers[tried.fails_at]
    found = ", ".join(map(str, differences(row, answer, tried.candidate.expected(row))))
    what = f"{row.kind} {row.source}".strip()
    return f"{what}: {found or answer.why or '; '.join(row.code)}"


def tried_told(tried: Tried) -> dict[str, Described]:
    """The locals of the moment before an entry is tried."""
    checks = len(tried.candidate.checks)
    parts: dict[str, Any] = {"entry": tried.candidate.label}
    if tried.backend is not Verdict.FAIL and tried.candidate.valid:
        parts["guards"] = f"{len(tried.answers)} of {checks} run"
        parts["time"] = time_text(tried.nanoseconds)
    why = f"{tried.candidate.label}: {reason(tried)}"
    parts["verdict"] = "match" if tried.matches else f"no match: {why}"
    found = entry_told(parts)
    if tried.also:
        found["also fail"] = also_told(tried.also)
    return found


def region_told(region: int) -> dict[str, Any]:
    """The locals of the moment before the entries of a region."""
    return entry_told({"region": region_name(region), "verdict": "pass"})
