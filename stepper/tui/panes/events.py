"""Everything that happened in the session, in order, read from the recording a page at a time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from textual.cache import LRUCache

from stepper.analysis.here import event_at
from stepper.client.frame_names import event_text
from stepper.client.text import one_line, plural
from stepper.model.trace import Event, EventKind, MomentId
from stepper.recording.reader import Recording
from stepper.tui.lines import Lines
from stepper.tui.listing import ListingPane
from stepper.tui.palette import Row
from stepper.tui.snapshot import Snapshot
from stepper.tui.table import Column, Table

_PAGE = 256

_ROLES = {
    EventKind.GRAPH_BREAK: "error",
    EventKind.EXCEPTION: "error",
    EventKind.CACHE_LIMIT: "error",
    EventKind.RESTART: "warning",
    EventKind.SKIP: "warning",
    EventKind.RECOMPILE: "warning",
    EventKind.INTERVENTION: "warning",
    EventKind.GUARD: "type",
    EventKind.NODE: "node",
    EventKind.INLINE: "function",
    EventKind.RETURN: "dim",
    EventKind.TRANSLATION: "title",
    EventKind.END: "title",
}

_COLUMNS = (Column("", useful=True), Column("event", useful=True), Column("what", useful=True))


def parse_filter(text: str) -> tuple[tuple[EventKind, ...], str]:
    """Kinds and text of a filter: `guard,node weight` is all guards and nodes that say `weight`."""
    first, _, rest = text.strip().partition(" ")
    words = first.lower().split(",")
    kinds = tuple(EventKind(word) for word in words if word in EventKind._value2member_map_)
    if len(kinds) == len(words):
        return kinds, rest.strip()
    return (), text.strip()


class EventsPane(ListingPane):
    """A row for each event, those after the moment shown dimmed. Enter goes to one."""

    NAME = "events"
    HELP = "Every event of the session, by kind and text; the current moment is marked."
    FILTER: ClassVar[str] = "kinds, then text: graph-break   guard,node weight   relu"
    EMPTY = "no event has been recorded yet"

    def __init__(self) -> None:
        super().__init__()
        self._pages: LRUCache[int, list[Event]] = LRUCache(32)
        self._asked: tuple[Hashable, ...] = ()
        self._kinds: tuple[EventKind, ...] = ()
        self._text = ""
        self._count = 0
        self._moment: MomentId = 0
        self.table: Table | None = None
        """The columns of the rows that are shown."""

    def depends(self, snapshot: Snapshot) -> Hashable:
        return snapshot.moment, snapshot.newest, snapshot.status, snapshot.cache_events

    def title(self, snapshot: Snapshot) -> str:
        return f"events {self._count:,}" + (" filtered" if self.filter else "")

    def show(self, snapshot: Snapshot) -> None:
        recording = snapshot.recording
        if recording is None:
            self.list_rows(0)
            return
        asked = (self.filter, snapshot.newest, snapshot.status)
        if asked != self._asked:
            self._asked = asked
            self._kinds, self._text = parse_filter(self.filter)
            self._count = recording.event_count(self._kinds or None, self._text)
            self._pages.clear()
        self.places(snapshot)
        moments = len(str(snapshot.newest))
        # What events say is read as it is drawn, a page at a time: it has the room that is left.
        widths = (moments, max(map(len, EventKind)), self.columns)
        self.table = Table(_COLUMNS, widths, self.columns - 2)
        cursor = None
        if snapshot.moment != self._moment:
            self._moment = snapshot.moment
            cursor = self._row_of(recording, snapshot.moment)
        empty = f"no event is {self.filter!r}" if self.filter else self.EMPTY
        self.list_rows(self._count, cursor=cursor, empty=empty)

    def _row_of(self, recording: Recording, moment: MomentId) -> int:
        """The row of what a moment is about; where nothing is worth that, the newest before it."""
        first = recording.event_moments(self._kinds or None, self._text).before(moment)
        about = event_at(recording, moment)
        if about is not None:
            for index in range(first, min(first + _PAGE, self._count)):
                event = self._event(index)
                if event.id == about.id:
                    return index
                if event.moment > moment:
                    break
        return max(0, first - 1)

    def _event(self, index: int) -> Event:
        number, at = divmod(index, _PAGE)
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = self._recording.events(
                kinds=self._kinds or None, text=self._text, limit=_PAGE, offset=number * _PAGE
            )
        return page[at]

    @property
    def _recording(self) -> Recording:
        assert self.snapshot is not None
        assert self.snapshot.recording is not None
        return self.snapshot.recording

    def draw_row(self, index: int) -> Row:
        assert self.snapshot is not None
        event = self._event(index)
        past = event.moment < self.snapshot.moment
        new = self.snapshot.is_new(event.moment)
        assert self.table is not None
        cells = (
            ((f"{event.moment:>{len(str(self.snapshot.newest))}}", "number"),),
            ((event.kind, _ROLES.get(event.kind, "")),),
            ((event_text(self._recording, event), "" if past else "dim"),),
        )
        return self.table.row(("+ ", "new") if new else ("│ " if past else "  ", "dim"), cells)

    def detail_of(self, index: int) -> list[str]:
        event = self._event(index)
        made = self._places.instruction(event.moment) if self._places else ""
        line = self._places.line(event.moment) if self._places else ""
        return [
            f"{event.kind}: {one_line(event.text)}",
            f"moment {event.moment}  {made}  {line}".rstrip(),
            f"row {index + 1:,} of {plural(self._count, 'event')}",
        ]

    def on_lines_activated(self, message: Lines.Activated) -> None:
        event = self._event(message.index)
        self.go_to(event.moment, f"{event.kind}: {one_line(event.text)}")
