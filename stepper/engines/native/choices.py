"""What becomes of a call that the native engine is about to capture, when the user chooses.

The idea, and the choices, are in `stepper.engines.common.choices`. A miss is told by the frame hook
before it asks for a translation; what was chosen answers in the translation's place. A call of code
that has no entry yet is told when its translation has begun: there a size can be marked, and
nothing else be chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import NamedTuple

from stepper.engines.common.choices import (
    NOWHERE,
    CallChoice,
    Choices,
    Refusal,
    not_tried,
    would_not_match,
)
from stepper.engines.native import toolkit
from stepper.engines.native.cache import BOOK, KnownEntry
from stepper.engines.native.entry_guards import ask, guard_rows
from stepper.model.cache import CacheError, Verdict
from stepper.model.lookup import Difference
from stepper.native.runtime.cache_entry import GuardedCode
from stepper.native.watching import Decision


class Refused(NamedTuple):
    """An entry that did not match.

    guard: the row of the guard that failed; None: none of them alone.
    source: what that guard is about.
    """

    entry: GuardedCode
    guard: int | None
    source: str
    differences: Sequence[Difference]
    text: str


class Choice(CallChoice[KnownEntry]):
    """What becomes of one call that would be captured."""

    skip_text = "this call runs uncaptured; what it calls is looked up and captured as ever"

    def __init__(
        self,
        code: CodeType,
        f_locals: dict[str, object],
        f_globals: dict[str, object],
        *,
        first: bool,
    ) -> None:
        """`first`: the translation has begun already."""
        super().__init__(f_locals)
        self.code = code
        self._globals = f_globals
        self._first = first
        self._refused: list[Refused] = []

    def refused(self, refused: Refused) -> None:
        """An entry does not match."""
        self._refused.append(refused)

    def refusals(self) -> list[Refusal]:
        """See `CallChoice.refusals`."""
        return [Refusal(each.source, each.differences, each.text) for each in self._refused]

    def reach(self, source: str) -> object:
        """See `CallChoice.reach`."""
        try:
            if self._refused:
                manager = self._refused[-1].entry.manager
                return manager.reach(source, self._locals, self._globals)
            return eval(source, {"__builtins__": {}, "L": self._locals, "G": self._globals})
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise CacheError(f"{source} cannot be reached: {why}") from None

    def skip(self) -> str:
        """See `stepper.model.control.SkipCall`.

        Raises:
            CacheError: it is too late.
        """
        if self._first:
            raise CacheError(f"a first translation cannot be skipped any more; {NOWHERE}")
        return super().skip()

    def relax(self, number: int | None, drop: tuple[int, ...]) -> str:
        """See `stepper.model.control.RelaxGuard`.

        Raises:
            CacheError: no entry has been refused by a guard, or others of its guards fail as well.
        """
        entry, refused = self._entry(number)
        rows = guard_rows(refused.entry)
        if not drop:
            if refused.guard is None:
                raise CacheError(f"{entry.label} is refused by none of its guards: {refused.text}")
            drop = (refused.guard,)
        draft = toolkit.clone(entry.id, drop)
        assert draft.draft is not None
        kept = [row.index for row in rows if row.index not in drop]
        checks = ask(draft.draft, self._locals, self._globals)
        failing = [kept[check.guard] for check in checks if check.verdict is not Verdict.PASS]
        if failing:
            toolkit.remove(draft.id)
            others = [f"{rows[at].kind} {rows[at].source}".strip() for at in failing]
            raise would_not_match(entry.label, entry.id, others, {*drop, *failing})
        return self.serve(entry, draft)

    def throw_away(self, draft: KnownEntry) -> None:
        """See `CallChoice.throw_away`."""
        toolkit.remove(draft.id)

    def decision(self) -> Decision | None:
        """What is to be done instead of a translation; None: it is to be translated."""
        if self.skipped:
            return Decision(None)
        if self._served is not None and self._served.draft is not None:
            entry = self._served.draft
            if entry.valid:
                toolkit.register(self._served.id)
                return Decision(entry)
        return None

    def _entry(self, number: int | None) -> tuple[KnownEntry, Refused]:
        for refused in reversed(self._refused):
            entry = BOOK.recognize(BOOK.know(self.code), refused.entry)
            if number in (None, entry.id):
                return entry, refused
        raise not_tried(number)


def decided(choices: Choices[Choice], code: CodeType) -> Decision | None:
    """What was chosen for the call of a code whose miss this thread has just told."""
    choice = choices.take()
    return None if choice is None or choice.code is not code else choice.decision()
