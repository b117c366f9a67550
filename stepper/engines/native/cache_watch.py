"""What happens to cache entries in a session: made, invalidated, evicted.

The cache calls its listener wherever it happens: an entry ends in the midst of the destructor of an
object that it lived on. So what is heard is only noted; see `stepper.engines.common.cache_news` for
when it is told.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from stepper import _C
from stepper.engines.common.cache_news import CacheNews, Place, place
from stepper.engines.common.entry_news import Death, EntryNews
from stepper.engines.native.cache import BOOK, KnownEntry
from stepper.model.cache import EntryState
from stepper.native.library import is_library
from stepper.native.runtime.cache_entry import RESET, GuardedCode

if TYPE_CHECKING:
    from stepper.debuggee.engine import Recorder
    from stepper.debuggee.mirror import LiveTranslation
    from stepper.engines.native.engine import NativeEngine

DIED = " died"


class CacheWatcher(EntryNews):
    """Tells the recorder what happens to entries."""

    def __init__(self, newest: Callable[[], LiveTranslation | None]) -> None:
        """`newest`: the innermost translation that is under way."""
        self._newest = newest

    def install(self, recorder: Recorder, watcher: NativeEngine) -> None:
        """Begin to listen. `watcher`: whom `_C.Hook` tells of trouble."""
        self._news = CacheNews(recorder, self._interprets, lambda frame: False)
        BOOK.listing()  # while the objects live that old entries depend on
        _C.set_cache_listener(_C.Hook(self._heard, None, watcher))

    def uninstall(self) -> None:
        """Listen no more."""
        _C.set_cache_listener(None)
        self.emit()
        self._news = None

    def _interprets(self, frame: FrameType | None) -> bool:
        return self._newest() is not None

    def _heard(self, event: str, found: object, detail: object) -> None:
        if not isinstance(found, GuardedCode) or event == "error":
            return
        original = found.original
        if event == "added":
            if original is not None:
                self._added(found, original)
            return
        entry = BOOK.of(found)
        if entry is None:
            return
        if event == "removed":
            self._evicted(entry, "it was taken out of the cache")
        elif detail == RESET:
            self._evicted(entry, "stepper.native.reset()")
        else:
            self._died(entry, str(detail).removesuffix(DIED))

    def _added(self, found: GuardedCode, original: CodeType) -> None:
        entry = BOOK.added(found, original)
        translation = self._newest()
        if translation is not None:
            entry.change(compile_id=translation.compile_id, translation=translation.id)
        self._note_made(entry)

    def _died(self, entry: KnownEntry, source: str) -> None:
        death = Death(entry, source, _place())
        entry.dead = source
        BOOK.ended(entry, EntryState.INVALID, death.reason)
        self._note_died(entry, death)
        self._emit_if_safe()

    def _evicted(self, entry: KnownEntry, reason: str) -> None:
        where = _place()
        if entry.facts.state is EntryState.VALID:  # else it is known why
            BOOK.ended(entry, EntryState.EVICTED, f"{reason}, {where}")
        self._note_evicted(entry, where)
        self._emit_if_safe()


def _place() -> Place:
    return place(lambda filename: not is_library(filename))
