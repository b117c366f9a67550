"""Why we are here: what the moment is about, the line to blame, what to do, and what led to it."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterator

from textual.app import ComposeResult
from textual.cache import LRUCache
from textual.timer import Timer

from stepper.analysis.here import Culprit, Here, glimpse, why_here
from stepper.client.names import brief_function, clip_middle
from stepper.client.text import short_path
from stepper.model.trace import EventKind, MomentId
from stepper.recording.reader import Recording
from stepper.tui.beside import Asked, Beside
from stepper.tui.highlight import mark, python_spans
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, Span
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot, Status

_REST = 0.06
"""Seconds without a key after which the whole answer is looked for."""
_HEADLINE = 2
_REMEDY = 4
_LEAD = 3
"""Rows at most."""
_LEAST_PATH = 16
"""Columns for the culprit's file where its line is long."""

_ROLES = {
    EventKind.EXCEPTION: "error",
    EventKind.GRAPH_BREAK: "error",
    EventKind.CACHE_LIMIT: "error",
    EventKind.HIT: "new",
    EventKind.END: "title",
}

_Shown = tuple[Row, MomentId | None]


class AnswerPane(Pane):
    """A headline, the line to blame with the part of it that is meant, the nearest change, and rows
    that lead to where it comes from."""

    # A scroll bar that comes and goes would have the whole screen laid out anew, at every step.
    DEFAULT_CSS = "AnswerPane Lines { overflow-y: hidden; }"

    NAME = "answer"
    HELP = "Why this moment is worth a look: what happens, the line, a change, what led to it."

    def __init__(self) -> None:
        super().__init__()
        self._wanted = 1
        self._beside = Beside(self)
        self._known: LRUCache[tuple[MomentId, MomentId], Here] = LRUCache(64)
        """By the moment, and the newest moment that was recorded then."""
        self._rest: Timer | None = None
        self._rows: list[_Shown] = []
        self._here: Here | None = None
        self.settled = False
        """Whether what is shown is the whole answer."""

    def compose(self) -> ComposeResult:
        lines = Lines(empty="nothing has been recorded yet")
        lines.opens = True
        yield lines

    @property
    def wanted(self) -> int:
        return self._wanted

    @property
    def lines(self) -> Lines:
        """The rows."""
        return self.query_one(Lines)

    def on_unmount(self) -> None:
        self._beside.close()

    def depends(self, snapshot: Snapshot) -> Hashable:
        # At the newest moment more can happen before the next one.
        more = snapshot.newest == snapshot.moment and snapshot.cache_events
        return snapshot.moment, snapshot.status, more

    def show(self, snapshot: Snapshot) -> None:
        if self._rest is not None:
            self._rest.stop()
        recording, moment = snapshot.recording, snapshot.moment
        if recording is None or not moment:
            self._draw(None, cursor=0)
            return
        if snapshot.newest == moment:
            self._known.discard((moment, moment))
        known = self._known.get((moment, snapshot.newest))
        self._draw(known or glimpse(recording, moment), cursor=0)
        if known is None:
            self._rest = self.set_timer(_REST, self._look)

    def _look(self) -> None:
        """Have the whole answer looked for."""
        snapshot = self.snapshot
        if snapshot is not None and snapshot.recording is not None and snapshot.moment:
            over = snapshot.status is Status.ENDED
            moment = snapshot.moment

            def find(reader: Recording) -> Here:
                return why_here(reader, moment)

            self._beside.ask(Asked(snapshot.recording, moment, find, over))

    def on_beside_found(self, message: Beside.Found) -> None:
        message.stop()
        moment = message.asked.about
        here: Here = message.found or Here(f"why we are here is {message.error}")
        if message.newest:
            self._known[moment, message.newest] = here
        if self.snapshot is not None and self.snapshot.moment == moment:
            self._draw(here)

    def on_resize(self) -> None:
        # Rows are made for a width, what is found at once like the whole answer.
        if self._here is not None:
            self._draw(self._here)

    def _draw(self, here: Here | None, *, cursor: int | None = None) -> None:
        self._here = here
        self.settled = here is None or here.whole
        self._rows = [] if here is None else list(_rows(here, self._columns, self._cwd))
        self.lines.show(len(self._rows), lambda index: self._rows[index][0], cursor=cursor)
        wanted = 1 if here is None or here.kind is None else len(self._rows)
        if not self.settled and here is not None and here.kind is not None:
            wanted = max(wanted, self._wanted)
        if wanted != self._wanted:
            self._wanted = wanted
            self.post_message(self.Resized())

    @property
    def _columns(self) -> int:
        return max(20, self.size.width - 3)

    @property
    def _cwd(self) -> str:
        recording = self.snapshot.recording if self.snapshot else None
        return recording.facts.cwd if recording is not None else ""

    def on_lines_activated(self, message: Lines.Activated) -> None:
        moment = self._rows[message.index][1]
        if moment is None:
            self.post_message(self.Say("this row leads nowhere; those with a number do"))
        else:
            self.post_message(self.Goto(moment, "Backspace returns"))


def _rows(here: Here, columns: int, cwd: str) -> Iterator[_Shown]:
    """The rows of an answer."""
    role = "dim" if here.kind is None else _ROLES.get(here.kind, "warning")
    sign: Span = ("▌ ", role)
    if here.kind is None:
        why = f"  ← {here.leads[0].text}" if here.leads else ""
        yield Row((sign, (here.headline, ""), (why, "dim"))), here.leads[0].moment if why else None
    else:
        for part in _wrapped(here.headline, columns, _HEADLINE):
            yield Row((sign, (part, f"{role} bold"))), None
        if here.culprit is not None:
            yield _culprit(here.culprit, sign, columns, cwd), here.culprit.moment
    if here.remedy:
        for at, part in enumerate(_wrapped(here.remedy, columns - 8, _REMEDY)):
            yield Row((sign, ("change: " if at == 0 else " " * 8, "key"), (part, ""))), None
    for line in here.leads:
        number = f"{line.moment}" if line.moment is not None else ""
        for at, part in enumerate(_wrapped(line.text, columns - 9, _LEAD)):
            head = f"{number:>7}  " if at == 0 else " " * 9
            yield Row((sign, (head, "number"), (part, ""))), line.moment


def _culprit(found: Culprit, sign: Span, columns: int, cwd: str) -> Row:
    path = f"{short_path(found.place.filename, cwd)}:{found.place.line}"
    if not found.text:  # else it is seen
        path += f" in {brief_function(found.place.function)}"
    # The expression is what is looked for; of the file, its end says enough.
    place = clip_middle(path, max(_LEAST_PATH, columns - len(found.text) - 2))
    code = mark(python_spans([found.text])[0], found.start, found.end, "column")
    full = "" if place == path else f"{path}  {found.text}"
    return Row((sign, (f"{place}  ", "dim"), *code), full=full)


def _wrapped(text: str, columns: int, most: int) -> list[str]:
    return textwrap.wrap(
        text, columns, max_lines=most, placeholder=" …", break_on_hyphens=False
    ) or [""]
