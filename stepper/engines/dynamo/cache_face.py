"""Dynamo's cache as front ends see it: see `stepper.debuggee.engine.Cache`."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType

from stepper.engines.common.arguments import copies, same_random_numbers
from stepper.engines.common.cache_face import CacheFace, Standing
from stepper.engines.common.choices import Choices
from stepper.engines.common.words import object_text
from stepper.engines.dynamo import bytecode, cache_check
from stepper.engines.dynamo.cache import BOOK, KnownEntry
from stepper.engines.dynamo.calling import call, uncompiled
from stepper.engines.dynamo.choices import Choice
from stepper.engines.dynamo.entries import ENTRIES
from stepper.engines.dynamo.resumed import RecordLookup, ResumedCalls

Following = Callable[[CodeType, CodeType, str, Callable[[], str], ResumedCalls], str]


class DynamoCache(CacheFace[KnownEntry, Choice]):
    """Answers for the cache of the `torch._dynamo` that is installed."""

    def __init__(
        self,
        choices: Choices[Choice],
        standing: Standing,
        following: Following,
        record_lookup: RecordLookup,
    ) -> None:
        """
        Args:
            choices: what becomes of calls that no entry serves.
            standing: the locals of the call of a code, if the program stands at one.
            following: calls something that runs a code and has that recorded; asked with the code,
                the code that it was made of, the compile id, what to call, and who answers for
                resume functions.
            record_lookup: records a lookup that is made by hand.
        """
        super().__init__(ENTRIES, choices, standing, bytecode.is_program)
        self._following = following
        self._record_lookup = record_lookup

    def stepping(self, entry: int, arguments: str) -> tuple[str, Callable[[], str]]:
        """See `Cache.stepping`."""
        known = BOOK.entry(entry)
        code, original, f_globals = cache_check.runnable(known)
        copied = copies(self._locals(original, arguments))

        def run() -> str:
            return object_text(call(code, f_globals, copied.f_locals, original))

        def stepped() -> str:
            # In a callback of the interpreter's the compiler is at rest. To follow what runs there
            # would wake it up, too.
            resumed = ResumedCalls(known.facts.backend, self._record_lookup)
            with uncompiled(), same_random_numbers():
                text = self._following(code, original, known.facts.compile_id, run, resumed)
            return f"{text}{resumed.remark}"

        return copied.beware, stepped
