"""What a lookup found: the entries that it tried, the checks of their guards, and what differed.

An entry's guards are listed once, as its *guard program*, in the order in which they are checked.
A lookup then says of each one that it ran what it said: a `Check`, which names its guard by the
place in that program. Everything here is data; what a person reads is worded from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from stepper.model.cache import Verdict
from stepper.model.datum import UNKNOWN, Datum, Words, alike, text_of
from stepper.model.moment import MomentId
from stepper.model.program import UserLine

BACKEND = "BACKEND"
"""The kind of the row that compares an entry's backend with the call's."""
INVALID = "INVALID"
"""The kind of the only row of an entry of which an object has died."""

_VERDICTS = {Verdict.PASS: "pass", Verdict.FAIL: "FAIL"}


class Aspect(NamedTuple):
    """What of a value is meant."""

    what: str
    """`size`, `dtype`, `value`, `type` …; empty when it is not known."""
    at: int | None = None
    """Which size or stride, by the number of the dimension; None for anything else."""

    def __str__(self) -> str:
        what = "shape" if self.what == "size" else self.what
        return self.what if self.at is None else f"{what}[{self.at}]"

    def of(self, name: str) -> str:
        """This aspect of what is called so, as a person writes it: `x.shape[0]`, `dtype of x`."""
        if self.what == "size" and self.at is not None and name and " of " not in name:
            return f"{name}.{self}"
        return " of ".join(filter(None, (str(self), name)))


class Difference(msgspec.Struct, frozen=True, array_like=True):
    """One thing in which a value is not as its guard wants it."""

    what: str
    """As in `Aspect`, and so is `at`."""
    expected: Datum = UNKNOWN
    actual: Datum = UNKNOWN
    at: int | None = None
    source: str = ""
    """The expression of the value, where that is not what its guard looks at: what one of the
    values depends on that a condition compares."""
    computed: bool | None = None
    """Whether a tensor that requires grad is the result of operations, to which gradients go back
    through it; None: not known, or it does not require grad."""

    @property
    def aspect(self) -> Aspect:
        """In what it differs."""
        return Aspect(self.what, self.at)

    def __str__(self) -> str:
        return f"{self.aspect} {text_of(self.expected)} ≠ {text_of(self.actual)}"


BASE = "base"
"""What differs of a tensor that is a view: the one behind it."""
NO_BASE = Difference(BASE, Words("a tensor"), None)
SMALLER_BASE = Difference(BASE, Words("one of more dimensions"), Words("one of fewer"))


class CheckedGuard(msgspec.Struct, frozen=True, array_like=True):
    """One row of an entry's guard program: what is checked there, whatever the call."""

    kind: str
    """Name of the leaf guard, e.g. `TENSOR_MATCH`; or `BACKEND` or `INVALID`, of rows that are
    about the entry as a whole."""
    source: str
    """The expression that it looks at; empty for global state, or when it looks at several."""
    code: tuple[str, ...] = ()
    """What it checks, as the compiler words it, uncut."""
    expected: Datum = UNKNOWN
    """What the value must be, where that can be said."""
    user_line: UserLine | None = None
    """The line that made the compiler depend on it."""
    hint: str = ""
    """The compiler's advice about it."""

    @property
    def text(self) -> str:
        """What is checked, in one line: the expression and what it must be."""
        if self.kind == BACKEND:
            return text_of(self.expected)
        if self.source and self.expected != UNKNOWN:
            return f"{self.source}  {text_of(self.expected)}"
        return "; ".join(self.code) or self.source


class Check(msgspec.Struct, frozen=True, array_like=True):
    """One guard, asked in a lookup."""

    place: int
    """Which guard: its place in the entry's guard program."""
    verdict: Verdict
    moment: MomentId = 0
    """Before it was asked; 0 for one that stands behind a guard that failed, so that the compiler
    did not ask it."""
    nanoseconds: int | None = None
    """How long the compiler takes for it, without getting to the value; None: not known."""
    actual: Datum = UNKNOWN
    """What was there, where it was looked at."""
    differences: tuple[Difference, ...] = ()
    """In what a value that fails is not as wanted; empty where that is not known."""
    why: str = ""
    """Why it fails or cannot be asked, where no difference says so."""

    def failure(self, guard: CheckedGuard) -> str:
        """Why it fails, in words; `guard`: its own."""
        return ", ".join(map(str, self.differences)) or self.why or "; ".join(guard.code)

    def at(self, moment: MomentId) -> Check:
        """This check, as it was asked at a moment."""
        return Check(
            self.place, self.verdict, moment, self.nanoseconds, self.actual, self.differences,
            self.why,
        )  # fmt: skip

    def says_the_same(self, other: Check) -> bool:
        """Whether all of it is the other's, but for when it was asked and how long it took."""
        return (
            self.verdict is other.verdict
            and self.why == other.why
            and not (self.differences or other.differences)
            and (self.nanoseconds is None) is (other.nanoseconds is None)
            and alike(self.actual, other.actual)
        )


class TriedEntry(msgspec.Struct, frozen=True, array_like=True):
    """An entry that a lookup has tried, with all that was asked."""

    moment: MomentId
    """Before it was tried."""
    attempt: int
    """Id of the lookup's only attempt."""
    entry: str
    """Its compile id, or `precompiled`."""
    code: int
    """Id of the code whose instructions, and whose guard program, are its rows."""
    matches: bool
    checks: tuple[Check, ...] = ()
    """What was asked, in order."""
    behind: tuple[Check, ...] = ()
    """In a miss, what would have failed besides, behind the guard that did."""
    nanoseconds: int | None = None
    """How long the compiler's own check of all its guards takes, where it matches."""


class UnmetEntry(msgspec.Struct, frozen=True, array_like=True):
    """An entry that did not serve a call for which something was compiled, asked again just before
    that: with the guards of it that failed, and those that could not be asked."""

    entry: str
    """Its compile id."""
    guards: tuple[CheckedGuard, ...]
    """Only these."""
    checks: tuple[Check, ...]
    """One for each of them, by its place among them: the first that failed is the one at which the
    compiler has stopped."""

    @classmethod
    def of(cls, entry: str, guards: Sequence[CheckedGuard], checks: Iterable[Check]) -> UnmetEntry:
        """What is kept of an entry, all of whose checks these are."""
        kept = [check for check in checks if check.verdict is not Verdict.PASS]
        return cls(
            entry,
            tuple(guards[check.place] for check in kept),
            tuple(msgspec.structs.replace(check, place=at) for at, check in enumerate(kept)),
        )

    @property
    def first(self) -> tuple[CheckedGuard, Check] | None:
        """The guard at which the compiler has stopped; None: it is not known which."""
        asked = zip(self.guards, self.checks, strict=True)
        return next((each for each in asked if each[1].verdict is Verdict.FAIL), None)

    def __str__(self) -> str:
        if self.first is None:
            return f"{self.entry}: it is not known why"
        guard, check = self.first
        what = "" if guard.kind in (BACKEND, INVALID) else f"{guard.kind} {guard.source}".rstrip()
        return ": ".join(filter(None, (self.entry, what, check.failure(guard))))


def unmet_text(entries: Iterable[UnmetEntry]) -> str:
    """Why none of some entries served a call, where the compiler has no words of its own."""
    return "\n".join(map(str, entries))


def verdict_text(verdict: Verdict) -> str:
    """A verdict as it is shown: a failure must catch the eye."""
    return _VERDICTS.get(verdict, str(verdict))
