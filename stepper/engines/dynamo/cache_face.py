"""The cache as the front end's requests see it: see `stepper.debuggee.engine.Cache`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from stepper.engines.common import portable_code
from stepper.engines.common.arguments import copies, same_random_numbers
from stepper.engines.common.asked_call import locals_of_call
from stepper.engines.common.words import object_text
from stepper.engines.dynamo import bytecode, cache_check
from stepper.engines.dynamo.cache import BOOK, locked
from stepper.engines.dynamo.cache_check import TOOLKIT
from stepper.engines.dynamo.calling import call, uncompiled
from stepper.engines.dynamo.choices import CHOICES
from stepper.engines.dynamo.resumed import ResumedCalls, TellLookup
from stepper.engines.dynamo.witnesses import find_witness
from stepper.model.cache import (
    CacheCheck,
    CacheError,
    CacheListing,
    EntryCode,
    EntryState,
    EntryView,
    RunResult,
    WitnessSearch,
)

Standing = Callable[[CodeType], dict[str, Any] | None]
Following = Callable[[CodeType, CodeType, str, Callable[[], str], ResumedCalls], str]


class DynamoCache:
    """Answers for the cache of the `torch._dynamo` that is installed."""

    def __init__(self, standing: Standing, following: Following, tell_lookup: TellLookup) -> None:
        """
        Args:
            standing: the locals of the call of a code, if the program stands at one.
            following: calls something that runs a code and has that recorded; asked with the code,
                the code that it was made of, the compile id, what to call, and who answers for
                resume functions.
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
        known = BOOK.entry(entry)
        with locked():
            _, transformed = BOOK.parts(known)
        if transformed is None:
            raise CacheError(f"the code of {known.label} is gone, or Dynamo does not give it away")
        data = portable_code.to_bytes(transformed)
        return EntryCode(entry, data, sys.executable or "", sys.version_info[:2])

    def check(self, code: int, arguments: str, backend: str, compare: bool) -> CacheCheck:
        """See `Cache.check`."""
        _, original = BOOK.code(code)
        f_locals = self._locals(original, arguments)
        return cache_check.check(original, f_locals, backend=backend, compare=compare)

    def run(self, entry: int, arguments: str, compare: bool) -> RunResult:
        """See `Cache.run`."""
        known = BOOK.entry(entry)
        _, original = BOOK.code(known.code.id)
        return cache_check.run(known, self._locals(original, arguments), compare=compare)

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
            resumed = ResumedCalls(known.facts.backend, self._tell_lookup)
            with uncompiled(), same_random_numbers():
                text = self._following(code, original, known.facts.compile_id, run, resumed)
            return f"{text}{resumed.remark}"

        return copied.beware, stepped

    def clone(self, entry: int, drop: tuple[int, ...], add: tuple[str, ...]) -> EntryView:
        """See `Cache.clone`."""
        return BOOK.view(TOOLKIT.clone(entry, drop, add).id)

    def edit(self, entry: int, bytecode: str) -> EntryView:
        """See `Cache.edit`."""
        return BOOK.view(TOOLKIT.edit(entry, bytecode).id)

    def register(self, entry: int) -> EntryView:
        """See `Cache.register`."""
        return BOOK.view(TOOLKIT.register(entry).id)

    def remove(self, entry: int) -> str:
        """See `Cache.remove`."""
        removed = TOOLKIT.remove(entry)
        match removed.facts.state:
            case EntryState.DRAFT:
                return f"{removed.label} is out of the cache; it is a draft again"
            case EntryState.EVICTED:
                return f"{removed.label} is thrown away"
            case _:
                return f"{removed.label}: {removed.facts.reason}"

    def find_witness(self, entry: int, guard: int, arguments: str) -> WitnessSearch:
        """See `Cache.find_witness`."""
        known = BOOK.entry(entry)
        _, original = BOOK.code(known.code.id)
        return find_witness(known, guard, self._locals(original, arguments))

    def mark_dynamic(self, source: str, dim: int | None, strict: bool) -> str:
        """See `Cache.mark_dynamic`."""
        return CHOICES.here().mark_dynamic(source, dim, strict)

    def relax(self, entry: int | None, drop: tuple[int, ...]) -> str:
        """See `Cache.relax`."""
        return CHOICES.here().relax(entry, drop)

    def skip(self) -> str:
        """See `Cache.skip`."""
        return CHOICES.here().skip()

    def _locals(self, code: CodeType, text: str) -> dict[str, Any]:
        return locals_of_call(code, text, self._standing(code), bytecode.is_program)
