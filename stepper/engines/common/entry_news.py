"""What happens to an entry, in words, for the watcher of each engine's cache.

When it is told: see `stepper.engines.common.cache_news`.
"""

from __future__ import annotations

from stepper.engines.common.cache_news import AT_THE_END, CacheNews, Place
from stepper.engines.common.known import KnownEntry
from stepper.model.program import PythonFrame
from stepper.model.trace import EventKind

_NAMED = 5
"""So many of the objects that an entry dies with are named in its event."""


class EntryNews:
    """Notes what happens to entries, from `install` of a watcher to its `uninstall`."""

    _news: CacheNews | None = None

    def emit(self) -> None:
        """Tell what was noted. Blocks while the program stands still."""
        if self._news is not None:
            self._news.emit()

    def _emit_if_safe(self) -> None:
        if self._news is not None:
            self._news.emit_if_safe()

    def _note(
        self, kind: EventKind, entry: KnownEntry, text: str, ended: PythonFrame | None = None
    ) -> None:
        if self._news is not None:
            name = entry.code.qualname
            self._news.note(kind, text, ended, entry.id, name, entry.facts.compile_id)

    def _note_made(self, entry: KnownEntry) -> None:
        text = entry.label
        mortal = [f"{line.object} ({line.source})" for line in entry.facts.lifelines]
        if mortal:
            more = f" and {len(mortal) - _NAMED} more" if len(mortal) > _NAMED else ""
            text += f": it dies with {', '.join(mortal[:_NAMED])}{more}"
        self._note(EventKind.ENTRY, entry, text)

    def _note_died(self, entry: KnownEntry, death: Death) -> None:
        self._note(EventKind.INVALIDATE, entry, death.text, death.place.frame)

    def _note_evicted(self, entry: KnownEntry, place: Place | None) -> None:
        ended = None if place is None else place.frame
        self._note(EventKind.EVICT, entry, f"{entry.label}: {entry.facts.reason}", ended)


class Death:
    """The death of an object which an entry's guards know as `source`; or, at the end, that torch
    takes it for dead."""

    def __init__(self, entry: KnownEntry, source: str, place: Place) -> None:
        self.place = place
        bond = next((each for each in entry.bonds if each.source == source), None)
        what = bond.text if bond is not None else source
        line = next((each for each in entry.facts.lifelines if each.source == source), None)
        if place is AT_THE_END:
            reason = f"given up {place}"
            text = f"{reason}, without the death of {what}"
        else:
            user_line = None if line is None else line.user_line
            because = f" (because of {user_line})" if user_line else ""
            known = "look at" if what == source else f"know as {source}"
            reason = f"{what} died, {place}"
            text = f"{what} died, which its guards {known}{because}; {place}"
        self.reason = reason
        """Why the entry is no more."""
        self.text = f"{entry.label}: {text}"
