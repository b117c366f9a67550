"""The cache as the front end's requests see it: see `stepper.debuggee.engine.Cache`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType

from stepper.engines.common import portable_code
from stepper.engines.common.arguments import call, copies, same_random_numbers
from stepper.engines.common.asked_call import locals_of_call
from stepper.engines.common.words import object_text
from stepper.engines.native import cache_check, toolkit
from stepper.engines.native.cache import BOOK, globals_of
from stepper.engines.native.cache_check import uncaptured
from stepper.engines.native.choices import CHOICES
from stepper.engines.native.resumed import Following, ResumedCalls, TellLookup, resume_calls_left
from stepper.model.cache import (
    CacheCheck,
    CacheListing,
    EntryCode,
    EntryState,
    EntryView,
    RunResult,
    WitnessSearch,
)
from stepper.native.library import is_library

Standing = Callable[[CodeType], dict[str, object] | None]


class NativeCache:
    """Answers for the caches of `stepper._C`."""

    def __init__(self, standing: Standing, following: Following, tell_lookup: TellLookup) -> None:
        """
        Args:
            standing: the locals of the call of a code, if the program stands at one.
            following: calls something that runs a code once, and has that followed.
            tell_lookup: records a lookup that is made by hand.
        """
        self._standing = standing
        self._following = following
        self._tell_lookup = tell_lookup

    def listing(self, function: str) -> CacheListing:
        """See `Cache.listing`."""
        return BOOK.listing(function)

    def view(self, entry: int) -> EntryView:
        """See `Cache.view`."""
        return BOOK.view(entry)

    def code(self, entry: int) -> EntryCode:
        """See `Cache.code`."""
        found, _ = BOOK.parts(BOOK.entry(entry))
        data = portable_code.to_bytes(found.code)
        return EntryCode(entry, data, sys.executable or "", sys.version_info[:2])

    def check(self, code: int, arguments: str, backend: str, compare: bool) -> CacheCheck:
        """See `Cache.check`."""
        _, original = BOOK.code(code)
        f_locals = self._locals(original, arguments)
        return cache_check.check(original, f_locals, backend=backend, compare=compare)

    def run(self, entry: int, arguments: str, compare: bool) -> RunResult:
        """See `Cache.run`."""
        known = BOOK.entry(entry)
        _, original = BOOK.parts(known)
        return cache_check.run(known, self._locals(original, arguments), compare=compare)

    def stepping(self, entry: int, arguments: str) -> tuple[str, Callable[[], str]]:
        """See `Cache.stepping`."""
        known = BOOK.entry(entry)
        found, original = BOOK.parts(known)
        f_globals = globals_of(original)
        copied = copies(self._locals(original, arguments))

        def run() -> object:
            return call(found.code, f_globals, copied.f_locals, original)

        def stepped() -> str:
            resumed = ResumedCalls(known.facts.backend, self._tell_lookup, self._following)
            with uncaptured(), resume_calls_left(), same_random_numbers():
                result = self._following(found.code, original, known.facts.compile_id, run)
                text = object_text(resumed.finish(result))
            return f"{text}{resumed.remark}"

        return copied.beware, stepped

    def clone(self, entry: int, drop: tuple[int, ...], add: tuple[str, ...]) -> EntryView:
        """See `Cache.clone`."""
        return BOOK.view(toolkit.clone(entry, drop, add).id)

    def edit(self, entry: int, bytecode: str) -> EntryView:
        """See `Cache.edit`."""
        return BOOK.view(toolkit.edit(entry, bytecode).id)

    def register(self, entry: int) -> EntryView:
        """See `Cache.register`."""
        return BOOK.view(toolkit.register(entry).id)

    def remove(self, entry: int) -> str:
        """See `Cache.remove`."""
        known = toolkit.remove(entry)
        match known.facts.state:
            case EntryState.DRAFT:
                return f"{known.label} is out of the cache; it is a draft again"
            case EntryState.EVICTED if known.facts.copied_from is not None:
                return f"{known.label} is thrown away"
            case _:
                return f"{known.label} is out of the cache: the next call is captured anew"

    def find_witness(self, entry: int, guard: int, arguments: str) -> WitnessSearch:
        """See `Cache.find_witness`."""
        known = BOOK.entry(entry)
        _, original = BOOK.parts(known)
        return cache_check.find_witness(known, guard, self._locals(original, arguments))

    def mark_dynamic(self, source: str, dim: int | None, strict: bool) -> str:
        """See `Cache.mark_dynamic`."""
        return CHOICES.here().mark_dynamic(source, dim, strict)

    def relax(self, entry: int | None, drop: tuple[int, ...]) -> str:
        """See `Cache.relax`."""
        return CHOICES.here().relax(entry, drop)

    def skip(self) -> str:
        """See `Cache.skip`."""
        return CHOICES.here().skip()

    def _locals(self, code: CodeType, text: str) -> dict[str, object]:
        return locals_of_call(code, text, self._standing(code), _is_program)


def _is_program(filename: str) -> bool:
    return not is_library(filename)
