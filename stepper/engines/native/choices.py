"""What becomes of a call that the native engine is about to capture, when the user chooses.

The idea, and the choices, are in `stepper.engines.common.choices`. A miss is told by the frame hook
before it asks for a translation; what was chosen answers in the translation's place. A call of code
that has no entry yet is told when its translation has begun: there a size can be marked, and
nothing else be chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType

from stepper.engines.common.choices import NOWHERE, CallChoice, Choices
from stepper.engines.native.cache import BOOK, KnownEntry
from stepper.engines.native.entries import ENTRIES
from stepper.engines.native.entry_guards import ask
from stepper.model.cache import CacheError, GuardCheck
from stepper.native.runtime.cache_entry import GuardedCode
from stepper.native.watching import Decision


class Choice(CallChoice[KnownEntry, Decision]):
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
        super().__init__(ENTRIES, code, f_locals, f_globals)
        self._first = first

    def reach(self, source: str) -> object:
        try:
            if self._refusals and isinstance(entry := self._refusals[-1].entry, GuardedCode):
                return entry.manager.reach(source, self._locals, self._globals)
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

    def _known(self, entry: object) -> KnownEntry | None:
        assert isinstance(entry, GuardedCode)
        return BOOK.recognize(BOOK.know(self.code), entry)

    def _ask(self, draft: KnownEntry) -> Sequence[GuardCheck]:
        assert draft.draft is not None
        return ask(draft.draft, self._locals, self._globals)

    def _skipping(self) -> Decision:
        return Decision(None)

    def _serving(self, draft: KnownEntry) -> Decision | None:
        entry = draft.draft
        if entry is None or not entry.valid:
            return None
        ENTRIES.register(draft.id)
        return Decision(entry)


def decided(choices: Choices[Choice], code: CodeType) -> Decision | None:
    """What was chosen for the call of a code whose miss this thread has just told."""
    choice = choices.take()
    return None if choice is None or choice.code is not code else choice.verdict()
