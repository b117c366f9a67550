"""What becomes of a call that Dynamo is about to compile again, when the user chooses.

The idea, and the choices, are in `stepper.engines.common.choices`. A miss is told in front of the
body of Dynamo's `_compile`; what was chosen the probe returns to Dynamo in place of a compilation.

* *Relax*: the copy is handed to Dynamo as if it were what the compilation had made. It becomes an
  entry of this call's backend and region, tried first. (To register it as a precompiled entry, as
  `stepper.cache.register` does, would have it serve calls of every backend, and not this one: the
  cache has been looked through already.)
* *Skip*: what the call calls runs as it is, too.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from stepper.engines.common.choices import CallChoice, Choices
from stepper.engines.dynamo.cache import BOOK, KnownEntry
from stepper.engines.dynamo.entries import ENTRIES
from stepper.engines.dynamo.safe_reader import MissingValue, SafeReader, WouldRunUserCode
from stepper.engines.dynamo.toolkit import TOOLKIT
from stepper.engines.dynamo.versions.cache import ConvertFrameReturn, run_eagerly, served
from stepper.model.cache import CacheError, GuardCheck


class Choice(CallChoice[KnownEntry, ConvertFrameReturn]):
    """What becomes of one call that Dynamo would compile."""

    skip_text = "this call runs uncompiled, with all that it calls; nothing is compiled for it"

    def __init__(
        self, code: CodeType, f_locals: dict[str, Any], f_globals: dict[str, Any], compile_id: Any
    ) -> None:
        super().__init__(ENTRIES, code, f_locals, f_globals)
        self._compile_id = compile_id

    def reach(self, source: str) -> object:
        try:
            return SafeReader(self._locals, self._globals).reach(source)
        except (MissingValue, WouldRunUserCode, SyntaxError) as error:
            raise CacheError(f"{source} cannot be reached: {error}") from None

    def serve(self, entry: KnownEntry, draft: KnownEntry, how: str = "") -> str:
        TOOLKIT.warn(draft, ())
        return super().serve(entry, draft, f" as {self._compile_id}")

    def _known(self, entry: object) -> KnownEntry | None:
        return BOOK.by_wrapper(entry)

    def _ask(self, draft: KnownEntry) -> tuple[GuardCheck, ...]:
        checks: tuple[GuardCheck, ...] = draft.draft.ask(self._locals)
        return checks

    def _skipping(self) -> ConvertFrameReturn:
        return run_eagerly()

    def _serving(self, draft: KnownEntry) -> ConvertFrameReturn | None:
        made = draft.draft
        if not made.alive:
            return None
        TOOLKIT.hand_over(draft)
        return served(made.code, made.wrapper, self._compile_id)


def chosen(choices: Choices[Choice]) -> ConvertFrameReturn | None:
    """What was chosen in the lookup that this thread has just told; None: to go on."""
    choice = choices.take()
    return None if choice is None else choice.verdict()
