"""The native engine's cache as front ends see it: see `stepper.debuggee.engine.Cache`."""

from __future__ import annotations

from collections.abc import Callable

from stepper.engines.common.arguments import call, copies, same_random_numbers
from stepper.engines.common.cache_face import CacheFace, Standing
from stepper.engines.common.choices import Choices
from stepper.engines.common.words import object_text
from stepper.engines.native.cache import BOOK, KnownEntry, globals_of
from stepper.engines.native.cache_check import uncaptured
from stepper.engines.native.choices import Choice
from stepper.engines.native.entries import ENTRIES
from stepper.engines.native.resumed import Following, RecordLookup, ResumedCalls, resume_calls_left
from stepper.native.library import is_library


class NativeCache(CacheFace[KnownEntry, Choice]):
    """Answers for the caches of `stepper._C`."""

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
            following: calls something that runs a code once, and has that followed.
            record_lookup: records a lookup that is made by hand.
        """
        super().__init__(ENTRIES, choices, standing, lambda filename: not is_library(filename))
        self._following = following
        self._record_lookup = record_lookup

    def stepping(self, entry: int, arguments: str) -> tuple[str, Callable[[], str]]:
        """See `Cache.stepping`."""
        known = BOOK.entry(entry)
        found, original = BOOK.parts(known)
        f_globals = globals_of(original)
        copied = copies(self._locals(original, arguments))

        def run() -> object:
            return call(found.code, f_globals, copied.f_locals, original)

        def stepped() -> str:
            resumed = ResumedCalls(known.facts.backend, self._record_lookup, self._following)
            with uncaptured(), resume_calls_left(), same_random_numbers():
                result = self._following(found.code, original, known.facts.compile_id, run)
                text = object_text(resumed.finish(result))
            return f"{text}{resumed.remark}"

        return copied.beware, stepped
