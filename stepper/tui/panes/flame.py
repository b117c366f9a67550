"""Where compile time went, as a flame graph that one can walk.

    12.4 s compiling; here 3.1 s, 25 %, own 0.2 s  demos/slow_compile.py:22 in forward
    ├dynamo › entire_frame_compile───────────────────────────────────────────────────────
    ├compile_attempt › bytecode_tracing──────────────────├backend_compile────────────────
    ├forward:22  x = layer(x, weight)────────────├forward:23  print("forward is done")

Arrows walk from box to box, `i` makes a box as wide as the pane and `o` takes that back, Enter goes
to the box's first moment. `▶` are those that the moment shown is in the midst of.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.flame import Flame, flames
from stepper.analysis.slow_lines import NOT_RECORDED, phase_text
from stepper.analysis.spans import SpanKind
from stepper.client.names import brief_function
from stepper.client.text import short_path, so_far, time_words
from stepper.model.printing import printable
from stepper.model.trace import EventKind, MomentId, Phase
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed
from stepper.tui.beside import Asked, Beside
from stepper.tui.flame_layout import Box, Call, box_text, boxes, way_to
from stepper.tui.oneline import OneLine
from stepper.tui.palette import Span
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot, Status, line_at
from stepper.tui.themed import Themed

_REST = 0.2
"""Seconds without a newer answer after which the times are added up."""
_NARROW = 3
"""Columns below which nothing is written in a box."""
_OVER = (EventKind.END, EventKind.RESTART)

Way = tuple[tuple[SpanKind, str, str, int], ...]
"""Tells a flame from all others, also in a later answer: what leads to it, and it."""


class FlameView(Themed, can_focus=True):
    """Draws a flame, as wide as the pane, and what is below it."""

    DEFAULT_CSS = """
    FlameView { width: 1fr; height: 1fr; background: $background; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "beside(-1)", "Box to the left", show=False),
        Binding("right", "beside(1)", "Box to the right", show=False),
        Binding("up", "out", "Box above", show=False),
        Binding("down", "into", "Widest box below", show=False),
        Binding("enter", "go", "Go there"),
        Binding("i,plus,equals_sign", "widen", "Widen"),
        Binding("o,minus", "narrow", "Back"),
        Binding("home", "whole", "All of it", show=False),
    ]

    class Chosen(Message):
        """The user wants to go to a box's moment."""

        def __init__(self, flame: Flame) -> None:
            super().__init__()
            self.flame = flame

    class Moved(Message):
        """Another box is selected."""

    def __init__(self) -> None:
        super().__init__()
        self.empty = ""
        self._roots: Sequence[Flame] = ()
        self._wide: list[list[Flame]] = []
        """The ways to what was made as wide as the pane, one after the other."""
        self._boxes: list[Box] = []
        self._at = 0
        self._top = 0
        self._here: frozenset[int] = frozenset()

    # What it shows

    def show(self, roots: Sequence[Flame], empty: str) -> None:
        """Draw these; the selected one stays selected where it is still there."""
        selected = self.way
        wide = [_keys(way) for way in self._wide]
        self._roots, self.empty = roots, empty
        self._wide = [way for keys in wide if (way := _found(roots, keys))]
        self._lay_out()
        kept = _found(roots, _keys(selected))
        self._select_flame(kept[-1] if kept else None)

    def mark(self, here: Sequence[Flame]) -> None:
        """Mark those that the moment shown is in the midst of."""
        marked = frozenset(map(id, here))
        if marked != self._here:
            self._here = marked
            self.refresh()

    @property
    def selected(self) -> Box | None:
        """The box that the user is at."""
        return self._boxes[self._at] if self._at < len(self._boxes) else None

    @property
    def way(self) -> list[Flame]:
        """What leads to the selected box from the outermost, and what it leads to."""
        above: list[Flame] = []
        at: int | None = self._at if self._boxes else None
        while at is not None:
            above[:0] = self._boxes[at].flames
            at = self._boxes[at].above
        return [*(self._wide[-1][:-1] if self._wide else ()), *above]

    @property
    def rows(self) -> int:
        """How many rows there are to be seen."""
        return max((box.row for box in self._boxes), default=0) + 1

    def select_deepest(self, here: Sequence[Flame]) -> None:
        """Select the last one that has a box."""
        known = {id(flame) for box in self._boxes for flame in box.flames}
        self._select_flame(next((each for each in reversed(here) if id(each) in known), None))

    def _lay_out(self) -> None:
        roots = [self._wide[-1][-1]] if self._wide else self._roots
        self._boxes = boxes(roots, self.size.width)
        self._at = min(self._at, max(0, len(self._boxes) - 1))
        self.refresh()

    def _select_flame(self, flame: Flame | None) -> None:
        places = (at for at, box in enumerate(self._boxes) if flame in box.flames)
        self._select(next(places, 0))

    def _select(self, at: int) -> None:
        self._at = at
        box, height = self.selected, self.size.height
        if box is not None and height:
            lowest = max(0, self.rows - height)
            self._top = max(min(self._top, box.row, lowest), box.row - height + 1)
        self.refresh()
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        box = self.selected
        self._lay_out()
        self._select_flame(None if box is None else box.flame)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    # Drawing

    def render_line(self, y: int) -> Strip:
        base, palette, width = self.rich_style, self.palette, self.size.width
        if not self._boxes:
            text = printable(self.empty) if y == 0 else ""
            return Strip([Segment(text, base + palette["dim"])]).crop_extend(0, width, base)
        segments: list[Segment] = []
        at = 0
        row = [box for box in self._boxes if box.row == y + self._top]
        for number, box in enumerate(sorted(row, key=lambda box: box.first)):
            segments.append(Segment(" " * (box.first - at), base))
            text, roles = self._draw(box, number)
            segments.append(Segment(printable(text), base + palette[roles]))
            at = box.last
        return Strip(segments).crop_extend(0, width, base)

    def _draw(self, box: Box, number: int) -> Span:
        here = any(id(flame) in self._here for flame in box.flames)
        room = box.last - box.first - 1
        text = box_text(box, room) if room >= _NARROW else ""
        text = f"{'▶' if here else '├'}{text[:room].ljust(room, '─')}"
        flame = box.flame
        role = "dim" if flame.kind is SpanKind.PHASE or is_installed(flame.file) else ""
        if box is self.selected:
            return text, "reverse" if self.has_focus else "selected"
        return text, f"{role} span-{number % 2}"

    # Walking

    def action_beside(self, step: int) -> None:
        box = self.selected
        if box is None:
            return
        row = [at for at, each in enumerate(self._boxes) if each.row == box.row]
        row.sort(key=lambda at: self._boxes[at].first)
        self._select(row[max(0, min(row.index(self._at) + step, len(row) - 1))])

    def action_into(self) -> None:
        below = [at for at, box in enumerate(self._boxes) if box.above == self._at]
        if below:
            self._select(max(below, key=lambda at: self._boxes[at].flame.total))

    def action_out(self) -> None:
        box = self.selected
        if box is not None and box.above is not None:
            self._select(box.above)
        elif self._wide:
            self.action_narrow()

    def action_widen(self) -> None:
        way = self.way
        if way and (not self._wide or self._wide[-1][-1] is not way[-1]):
            self._wide.append(way)
            self._lay_out()
            self._select(0)

    def action_narrow(self) -> None:
        if self._wide:
            flame = self._wide.pop()[-1]
            self._lay_out()
            self._select_flame(flame)

    def action_whole(self) -> None:
        self._wide.clear()
        self._lay_out()
        self._select(0)

    def action_go(self) -> None:
        if self.selected is not None:
            self.post_message(self.Chosen(self.selected.flame))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        for at, box in enumerate(self._boxes):
            if box.row == event.y + self._top and box.first <= event.x < box.last:
                self._select(at)
                if event.chain == 2:
                    self.action_go()


class FlamePane(Pane):
    """Phases of the compiler, and in them functions and lines, each as wide as it took long."""

    NAME = "flame"
    HELP = "Where compile time went: phases, functions and lines, each as wide as it took long."
    LEAST = 6

    DEFAULT_CSS = "FlamePane OneLine { background: $surface; }"

    def __init__(self) -> None:
        super().__init__()
        self._beside = Beside(self)
        self._rest: Timer | None = None
        self._told = OneLine()
        self._roots: list[Flame] = []
        self._asked: Hashable = None
        """What was known when the times were added up last."""

    def compose(self) -> ComposeResult:
        yield self._told
        yield FlameView()

    @property
    def view(self) -> FlameView:
        """The picture."""
        return self.query_one(FlameView)

    @property
    def wanted(self) -> int:
        return max(self.LEAST, 1 + self.view.rows)

    def on_unmount(self) -> None:
        self._beside.close()

    def title(self, snapshot: Snapshot) -> str:
        whole = sum(root.total for root in self._roots)
        return f"flame {time_words(whole)}" if whole else "flame"

    def depends(self, snapshot: Snapshot) -> Hashable:
        return snapshot.moment, snapshot.newest, snapshot.status

    def show(self, snapshot: Snapshot) -> None:
        recording = snapshot.recording
        if recording is None:
            self.view.show((), so_far("nothing has been recorded yet", final=snapshot.final))
            return
        # What is not over has no time yet, so most steps of a live program change nothing.
        known = (recording.path, recording.event_count(kinds=_OVER), snapshot.status)
        if known != self._asked and snapshot.status is not Status.RUNNING:
            self._asked = known
            if self._rest is not None:
                self._rest.stop()
            self._rest = self.set_timer(_REST, self._look)
        self.view.mark(way_to(self._roots, _calls(snapshot)))

    def _look(self) -> None:
        snapshot = self.snapshot
        if snapshot is not None and snapshot.recording is not None:
            over = snapshot.status is Status.ENDED
            self._beside.ask(Asked(snapshot.recording, snapshot.moment, _added_up, over))

    def on_beside_found(self, message: Beside.Found) -> None:
        message.stop()
        first = not self._roots
        self._roots, empty = message.found or ([], f"where the time went is {message.error}")
        final = self.snapshot is not None and self.snapshot.final
        self.view.show(self._roots, so_far(empty, final=final))
        if self.snapshot is not None:
            here = way_to(self._roots, _calls(self.snapshot))
            self.view.mark(here)
            if first:
                self.view.select_deepest(here)
        self.post_message(self.Resized())
        self.post_message(self.Retitled())

    def on_flame_view_moved(self, message: FlameView.Moved) -> None:
        message.stop()
        box = self.view.selected
        whole = sum(root.total for root in self._roots)
        if box is None or not whole:
            self._told.say()
            return
        flame = box.flame
        share = f" {100 * flame.total / whole:.0f} %"
        own = f"  own {time_words(max(0, flame.own))}"
        self._told.say(
            (time_words(flame.total), "bold"), share, own, ("  ", ""), *self._told_of(box)
        )

    def _told_of(self, box: Box) -> list[Span]:
        flame = box.flame
        if flame.kind is SpanKind.PHASE:
            return [(phase_text(flame.name), "")]
        recording = self.snapshot.recording if self.snapshot else None
        cwd = recording.facts.cwd if recording is not None else ""
        where = f"{short_path(flame.file, cwd)}:{flame.line} in {brief_function(flame.name)}"
        return [(where, "function"), (f"  {flame.text}", "dim")]

    def on_flame_view_chosen(self, message: FlameView.Chosen) -> None:
        message.stop()
        moment: MomentId = message.flame.moment
        newest = self.snapshot.newest if self.snapshot else 0
        if newest:
            # A phase that began before the first moment leads to that.
            self.post_message(self.Goto(min(max(1, moment), newest), "Backspace returns"))


def _added_up(recording: Recording) -> tuple[list[Flame], str]:
    times = CompileTimes(recording)
    return flames(times), "no compilation has been recorded yet" if times.recorded else NOT_RECORDED


def _calls(snapshot: Snapshot) -> list[Call]:
    """The frames that are under way at a moment."""
    recording, state = snapshot.recording, snapshot.state
    if recording is None or state is None or snapshot.phase is not Phase.TRANSLATE:
        return []
    calls: list[Call] = []
    for frame_state in state.frames:
        code = recording.code(recording.frame(frame_state.frame).code)
        line = line_at(code, frame_state.ip) or code.first_line
        calls.append((code.filename, code.first_line, line))
    return calls


def _keys(way: Sequence[Flame]) -> Way:
    return tuple((each.kind, each.name, each.file, each.line) for each in way)


def _found(roots: Sequence[Flame], keys: Way) -> list[Flame]:
    """The flames on a way; none when they are not all there."""
    found: list[Flame] = []
    below = {(each.kind, each.name, each.file, each.line): each for each in roots}
    for key in keys:
        if key not in below:
            return []
        found.append(below[key])
        below = found[-1].children
    return found
