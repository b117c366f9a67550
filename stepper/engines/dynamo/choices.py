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

from collections.abc import Iterable
from types import CodeType
from typing import Any

from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy
from torch._dynamo.types import ConvertFrameReturn, GuardedCode, wrap_guarded_code

from stepper.engines.common.choices import (
    CallChoice,
    Choices,
    Refusal,
    not_tried,
    would_not_match,
)
from stepper.engines.dynamo.cache import BOOK, KnownEntry, locked
from stepper.engines.dynamo.cache_check import TOOLKIT
from stepper.engines.dynamo.lookup_programs import key_of
from stepper.engines.dynamo.lookup_tries import Tried, reason
from stepper.engines.dynamo.safe_reader import MissingValue, SafeReader, WouldRunUserCode
from stepper.model.cache import CacheError, GuardRow, Verdict


class Choice(CallChoice[KnownEntry]):
    """What becomes of one call that Dynamo would compile."""

    skip_text = "this call runs uncompiled, with all that it calls; nothing is compiled for it"

    def __init__(
        self, code: CodeType, f_locals: dict[str, Any], f_globals: dict[str, Any], compile_id: Any
    ) -> None:
        super().__init__(f_locals)
        self._code = code
        self._globals = f_globals
        self._compile_id = compile_id
        self._tried: list[Tried] = []

    def refused(self, tried: Tried) -> None:
        """An entry does not match."""
        self._tried.append(tried)

    def relax(self, number: int | None, drop: tuple[int, ...]) -> str:
        """See `stepper.model.control.RelaxGuard`.

        Raises:
            CacheError: no entry has been refused by a guard, or others of its guards fail as well.
        """
        with locked():
            BOOK.look_at(self._code)
            entry, tried = self._entry(number)
            rows = BOOK.tree(entry).rows if entry.draft is None else entry.draft.rows
            if not drop:
                drop = (self._row(rows, tried, entry),)
            draft = TOOLKIT.clone(entry.id, drop)
            failing = [
                draft.draft.rows[check.guard]
                for check in draft.draft.ask(self._locals)
                if check.verdict is not Verdict.PASS
            ]
            if failing:
                TOOLKIT.remove(draft.id)
                others = [f"{row.kind} {row.source}".strip() for row in failing]
                indices = {*drop, *_indices(rows, failing)}
                raise would_not_match(entry.label, entry.id, others, indices)
            TOOLKIT.warn(draft, ())
        return self.serve(entry, draft, f" as {self._compile_id}")

    def verdict(self) -> ConvertFrameReturn | None:
        """What Dynamo is to take in place of a compilation; None: it is to compile."""
        if self.skipped:
            eagerly = _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP)
            return ConvertFrameReturn(frame_exec_strategy=eagerly, apply_to_code=False)
        if self._served is not None and self._served.draft.alive:
            draft = self._served.draft
            TOOLKIT.hand_over(self._served)
            return wrap_guarded_code(GuardedCode(draft.code, draft.wrapper, self._compile_id))
        return None

    def refusals(self) -> list[Refusal]:
        """See `CallChoice.refusals`."""
        return [
            Refusal("" if (row := tried.failing) is None else row.source, tried.differences,
                    reason(tried))
            for tried in self._tried
        ]  # fmt: skip

    def reach(self, source: str) -> object:
        """See `CallChoice.reach`."""
        try:
            return SafeReader(self._locals, self._globals).reach(source)
        except (MissingValue, WouldRunUserCode, SyntaxError) as error:
            raise CacheError(f"{source} cannot be reached: {error}") from None

    def throw_away(self, draft: KnownEntry) -> None:
        """See `CallChoice.throw_away`."""
        TOOLKIT.remove(draft.id)

    def _entry(self, number: int | None) -> tuple[KnownEntry, Tried]:
        for tried in reversed(self._tried):
            entry = BOOK.by_wrapper(tried.candidate.wrapper)
            if entry is not None and number in (None, entry.id):
                return entry, tried
        raise not_tried(number)

    @staticmethod
    def _row(rows: tuple[GuardRow, ...], tried: Tried, entry: KnownEntry) -> int:
        failing = tried.failing
        found = _indices(rows, [failing]) if failing is not None else []
        if not found:
            raise CacheError(f"{entry.label} is refused by none of its guards: {reason(tried)}")
        return found[0]


def chosen(choices: Choices[Choice]) -> ConvertFrameReturn | None:
    """What was chosen in the lookup that this thread has just told; None: to go on."""
    choice = choices.take()
    return None if choice is None else choice.verdict()


def _indices(rows: tuple[GuardRow, ...], wanted: Iterable[GuardRow]) -> list[int]:
    keys = {key_of(row) for row in wanted}
    return [row.index for row in rows if key_of(row) in keys]
