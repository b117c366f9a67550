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
from stepper.engines.common.cache_news import CacheNews, place
from stepper.engines.native.cache import BOOK, KnownEntry
from stepper.model.cache import EntryState
from stepper.model.trace import EventKind
from stepper.native.library import is_library
from stepper.native.runtime.cache_entry import RESET, GuardedCode

if TYPE_CHECKING:
    from stepper.debuggee.engine import Recorder
    from stepper.debuggee.mirror import LiveTranslation

_NAMED = 5
"""So many of the objects that an entry dies with are named in its event."""
DIED = " died"


class CacheWatcher:
    """Tells the recorder what happens to entries."""

    def __init__(self, newest: Callable[[], LiveTranslation | None]) -> None:
        """`newest`: the innermost translation that is under way."""
        self._newest = newest
        self._news: CacheNews | None = None

    def install(self, recorder: Recorder) -> None:
        """Begin to listen."""
        self._news = CacheNews(recorder, self._interprets, lambda frame: False)
        BOOK.listing()  # while the objects live that old entries depend on
        _C.set_cache_listener(self._heard)

    def uninstall(self) -> None:
        """Listen no more."""
        _C.set_cache_listener(None)
        self.tell()
        self._news = None

    def tell(self) -> None:
        """Tell what was noted. Blocks while the program stands still."""
        if self._news is not None:
            self._news.tell()

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
        if event != "invalidated":
            self._evicted(entry, f"the cache was full, {_place()}")
        elif detail == RESET:
            self._evicted(entry, f"stepper.native.reset(), {_place()}")
        else:
            self._died(entry, str(detail).removesuffix(DIED))

    def _added(self, found: GuardedCode, original: CodeType) -> None:
        entry = BOOK.added(found, original)
        translation = self._newest()
        if translation is not None:
            entry.change(compile_id=translation.compile_id, translation=translation.id)
        text = entry.label
        mortal = [f"{line.object} ({line.source})" for line in entry.facts.lifelines]
        if mortal:
            more = f" and {len(mortal) - _NAMED} more" if len(mortal) > _NAMED else ""
            text += f": it dies with {', '.join(mortal[:_NAMED])}{more}"
        self._note(EventKind.ENTRY, entry, text)

    def _died(self, entry: KnownEntry, source: str) -> None:
        bond = next((each for each in entry.bonds if each.source == source), None)
        what, here = bond.text if bond is not None else source, _place()
        entry.dead = source
        BOOK.ended(entry, EntryState.INVALID, f"{what} died, {here}")
        text = f"{entry.label}: {what} died, which its guards know as {source}; {here}"
        self._note(EventKind.INVALIDATE, entry, text)
        self._tell_if_safe()

    def _evicted(self, entry: KnownEntry, reason: str) -> None:
        if entry.facts.state is EntryState.VALID:  # else it is known why
            BOOK.ended(entry, EntryState.EVICTED, reason)
        self._note(EventKind.EVICT, entry, f"{entry.label}: {entry.facts.reason}")
        self._tell_if_safe()

    def _note(self, kind: EventKind, entry: KnownEntry, text: str) -> None:
        if self._news is not None:
            self._news.note(kind, text, entry.id, entry.code.qualname)

    def _tell_if_safe(self) -> None:
        if self._news is not None:
            self._news.tell_if_safe()


def _place() -> str:
    return place(lambda filename: not is_library(filename))
