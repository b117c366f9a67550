"""The entries of the native engine's caches, asked by number.

What is run by hand is run with nothing captured or looked up meanwhile.
"""

from __future__ import annotations

from types import CodeType

from stepper import _C
from stepper.engines.common import arguments
from stepper.engines.common.entries import EngineEntries, Runnable
from stepper.engines.common.entry_guards import EntryGuards
from stepper.engines.native.cache import BOOK, KnownEntry, globals_of
from stepper.engines.native.entry_guards import AskedGuards, uncaptured
from stepper.engines.native.toolkit import TOOLKIT


class NativeEntries(EngineEntries[KnownEntry]):
    """The entries of the caches of `stepper._C`."""

    def guards(self, entry: KnownEntry) -> EntryGuards:
        found, original = BOOK.parts(entry)
        return AskedGuards(found, globals_of(original))

    def runnable(self, entry: KnownEntry) -> Runnable:
        found, original = BOOK.parts(entry)
        return Runnable(found.code, original, globals_of(original))

    def call(self, code: CodeType, what: Runnable, f_locals: dict[str, object]) -> object:
        with uncaptured():
            return _C.finish(arguments.call(code, what.f_globals, f_locals, what.original))

    def after_removal(self, entry: KnownEntry) -> str:
        return " is out of the cache: the next call is captured anew"


ENTRIES = NativeEntries(BOOK, TOOLKIT)
"""Those of this process."""
