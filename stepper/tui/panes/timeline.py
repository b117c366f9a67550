"""The whole session along a line: attempts and frames as spans, marks for what happened.

    attempts ├0/0 #1────────────├0/0 #2──────────────────────├1/0────────
    depth 0  ├forward───────────├forward─────────────────────├resume in f
    depth 1      ├block──────       ├block──────  ▒▒▒▒▒├mlp──
    marks    ▂▁  ▁ ▁▃▁ ▁▁▁ ▂   ✗↻▁  ▁ ▁▃▁ ▁▁▁ ▂▂▂▂▂▂▁▁ ▁▁▁   ▁
    moments  ╵1           ╵41,000       ╵82,000       ✗ break  ↻ restart

Lookups and executions are spans among the attempts; `=` is a cache hit, `≠` a guard that failed,
`†` an entry that became invalid. `░`, `▒`, `▓` are places where some frames, many, or
very many share a column: zoom in to tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import takewhile
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from stepper.client.frame_names import brief_compiled_name, frame_name
from stepper.client.names import brief_function
from stepper.client.text import attempt_name
from stepper.client.timeline_model import LOOKUP_MARKS, MARKS, Run, Timeline, Window
from stepper.model.printing import printable
from stepper.model.trace import EventKind, MomentId, Phase
from stepper.recording.reader import Recording
from stepper.tui.palette import Span
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot
from stepper.tui.themed import Themed

_GUTTER = 9
_BARS = "▁▂▃▄▅▆▇█"
_HEAT = "░▒▓"
"""Frames in a column: from two, from eight, from thirty-two on."""

_TICK = 14
"""Columns between two numbers of the axis."""

_WITH_AXIS = 4
"""Height from which there is room for the axis."""

_SIGNS = {
    EventKind.GRAPH_BREAK: ("✗", "error"),
    EventKind.RESTART: ("↻", "warning"),
    EventKind.INVALIDATE: ("†", "error"),
    EventKind.GUARD_FAIL: ("≠", "warning"),
    EventKind.HIT: ("=", "new"),
}
_PHASE_ROLES = {Phase.LOOKUP: " lookup", Phase.EXECUTE: " execute"}
_BAR_ROLES = {EventKind.INLINE: "function", EventKind.GUARD: "type", EventKind.NODE: "node"}
_NAMES = {
    EventKind.GRAPH_BREAK: "break",
    EventKind.RESTART: "restart",
    EventKind.INVALIDATE: "entry died",
    EventKind.GUARD_FAIL: "guard failed",
    EventKind.HIT: "hit",
}
_TALL = 8
"""Height from which each kind of mark has its own row."""


class _Line(NamedTuple):
    """A row of the picture: what it is about."""

    title: str
    kind: EventKind | None = None
    depth: int | None = None


class TimelineView(Themed, can_focus=True):
    """Draws a window of the timeline."""

    DEFAULT_CSS = """
    TimelineView { width: 1fr; height: 1fr; background: $background; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "One column back", show=False),
        Binding("right", "move(1)", "One column on", show=False),
        Binding("shift+left,pageup", "page(-1)", "A quarter of the window back", show=False),
        Binding("shift+right,pagedown", "page(1)", "A quarter of the window on", show=False),
        Binding("home", "end(-1)", "First moment", show=False),
        Binding("end", "end(1)", "Newest moment", show=False),
        Binding("i,plus,equals_sign", "zoom(0.5)", "Zoom in"),
        Binding("o,minus", "zoom(2.0)", "Zoom out"),
        Binding("up", "deeper(-1)", "Show frames less deep", show=False),
        Binding("down", "deeper(1)", "Show deeper frames", show=False),
    ]

    class Chosen(Message):
        """The user chose a moment."""

        def __init__(self, moment: MomentId) -> None:
            super().__init__()
            self.moment = moment

    def __init__(self) -> None:
        super().__init__()
        self.timeline = Timeline()
        self.window: Window | None = None
        self.moment: MomentId = 0
        self.newest: MomentId = 0
        self._recording: Recording | None = None
        self._settled = 0
        """How many attempts, from the first, were over when they were read."""
        self._known: Hashable = None
        self._top_depth = 0
        self._follows = True
        """Whether the window is the whole session, and grows with it."""
        self._rows: dict[int, list[Span]] = {}
        self._here: dict[int, int] = {}
        """The frame of each depth at the current moment."""
        self._drawn: object = None
        """What the picture was drawn of."""

    # What it shows

    def look_at(self, snapshot: Snapshot) -> None:
        """Show the session as it is known now, with the cursor at the snapshot's moment."""
        self.moment, newest = snapshot.moment, snapshot.newest
        self._recording = snapshot.recording
        known = (newest, snapshot.status, snapshot.cache_events)
        if self._recording is not None and known != self._known:
            self._known = known
            self._read(self._recording)
        self.newest = newest
        self._here = {}
        if snapshot.state is not None and self._recording is not None:
            top = self.timeline.top(snapshot.state.attempt)
            self._here = {at: state.frame for at, state in enumerate(snapshot.state.frames, top)}
        before = self._drawn
        self._fit()
        at = self.window.column(self.moment) if self.window is not None else 0
        self._drawn = (self._known, self.window, self._top_depth, self._here, at)
        # From one step to the next the cursor mostly stays in its column.
        if self._drawn != before:
            self.draw_anew()

    def _read(self, recording: Recording) -> None:
        """Take in what is new: everything from the first attempt that was not over last time."""
        attempts = recording.attempts()
        if self._settled < len(attempts):
            begin = attempts[self._settled].first_moment
            self.timeline.forget_from(begin)
            walks = {walk.id: walk for walk in recording.translations()}
            for attempt in attempts[self._settled :]:
                walk = walks[attempt.translation]
                frames = partial(recording.frames, attempt.id)
                self.timeline.begin(attempt, frames, thread=walk.thread, level=walk.level)
            self.timeline.add_frames(recording.spans(begin))
            over = (attempt.last_moment is not None for attempt in attempts[self._settled :])
            self._settled += sum(1 for _ in takewhile(bool, over))
        for kind in (*MARKS, *LOOKUP_MARKS):
            self.timeline.set_marks(kind, recording.event_moments((kind,)))

    def _fit(self) -> None:
        """Keep the window inside the session, and the moment inside the window."""
        width = max(self.size.width - _GUTTER, 1)
        newest = max(self.newest, 1)
        if self.window is None or self._follows:
            self.window = Window(1, newest, width)
        self.window = self.window._replace(width=width).within(newest)
        if self.moment:
            self.window = self.window.showing(self.moment, newest)
        depth = max(self._here, default=0)
        room = self._depth_rows()
        self._top_depth = min(self._top_depth, max(0, self.timeline.depth - room))
        if depth < self._top_depth or depth >= self._top_depth + room:
            self._top_depth = max(0, depth - room + 1)

    def draw_anew(self) -> None:
        """Draw every row again."""
        self._rows.clear()
        self.refresh()

    def on_resize(self) -> None:
        self._fit()
        self.draw_anew()

    # Drawing

    def _mark_rows(self) -> int:
        if self.size.height < _TALL:
            return 1
        return len(MARKS) + self.timeline.has_any(LOOKUP_MARKS)

    def _depth_rows(self) -> int:
        head = 1 if self.size.height > 2 else 0
        axis = self.size.height >= _WITH_AXIS
        return max(1, self.size.height - head - axis - self._mark_rows())

    @property
    def wanted(self) -> int:
        """Rows that it needs to show all depths; where that is many, each kind of mark by itself,
        too."""
        together = 3 + max(1, self.timeline.depth)
        if together < _TALL:
            return together
        return together - 1 + len(MARKS) + self.timeline.has_any(LOOKUP_MARKS)

    def _lines(self) -> list[_Line]:
        """What each row is about."""
        lines = [_Line("attempts")] if self.size.height > 2 else []
        depths = min(self._depth_rows(), max(1, self.timeline.depth - self._top_depth))
        lines += [
            _Line(f"depth {depth}", depth=depth)
            for depth in range(self._top_depth, self._top_depth + depths)
        ]
        if self._mark_rows() == 1:
            lines.append(_Line("marks"))
        else:
            names = {EventKind.GRAPH_BREAK: "breaks", EventKind.INLINE: "inlined"}
            lines += [_Line(names.get(kind, f"{kind}s"), kind=kind) for kind in MARKS]
            if self.timeline.has_any(LOOKUP_MARKS):
                lines.append(_Line("cache"))
        return [*lines, _Line("moments")] if self.size.height >= _WITH_AXIS else lines

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        lines = self._lines()
        if y >= len(lines) or self.window is None or not self.newest:
            return Strip.blank(self.size.width, base)
        spans = self._rows.get(y)
        if spans is None:
            spans = self._rows[y] = self._draw(lines[y], self.window)
        palette = self.palette
        made = Strip([Segment(printable(text), base + palette[roles]) for text, roles in spans])
        strip = Strip([Segment(f"{lines[y].title:<{_GUTTER}}", base + palette["dim"]), *made])
        strip = strip.crop_extend(0, self.size.width, base)
        return self._with_cursor(strip, base + palette["reverse"])

    def _with_cursor(self, strip: Strip, style: Style) -> Strip:
        if self.window is None or not self.moment:
            return strip
        at = _GUTTER + self.window.column(self.moment)
        if not _GUTTER <= at < self.size.width:
            return strip
        left, cell, right = strip.crop(0, at), strip.crop(at, at + 1), strip.crop(at + 1)
        return Strip.join([left, Strip([Segment(cell.text or " ", style)]), right])

    def _draw(self, line: _Line, window: Window) -> list[Span]:
        if line.kind is not None:
            counts = self._counts(line.kind, window)
            if line.kind in _SIGNS:
                sign, role = _SIGNS[line.kind]
                return [("".join(sign if count else " " for count in counts), role)]
            return [(_bars(counts), _BAR_ROLES[line.kind])]
        if line.depth is not None:
            runs = self.timeline.spans(line.depth, window)
            return self._span_row(runs, self._frame_name, self._here.get(line.depth))
        if line.title == "attempts":
            runs = self.timeline.attempts(window)
            return self._span_row(runs, self._attempt_name, None, self._attempt_role)
        if line.title == "moments":
            return self._axis(window)
        if line.title == "cache":
            return self._signs([(" ", "")] * window.width, LOOKUP_MARKS, window)
        return self._draw_marks(window)

    def _span_row(
        self,
        runs: list[Run],
        name: Callable[[int, int], str],
        here: int | None,
        look: Callable[[int], str] = lambda _: "",
    ) -> list[Span]:
        spans: list[Span] = []
        at = 0
        for number, run in enumerate(runs):
            spans.append((" " * (run.first - at), ""))
            at = run.last
            width = run.last - run.first
            role = f"span-{number % 2}{look(run.id)}"
            role += " bold" if run.id == here and run.number == 1 else ""
            if run.number > 1:
                each = run.number / width
                heat = _HEAT[(each >= 8) + (each >= 32)]
                spans.append((heat * width, "dim"))
                continue
            text = f"├{name(run.id, width - 1)}" if width > 2 else "├"
            spans.append((text[:width].ljust(width, "─"), role))
        return spans

    def _frame_name(self, frame: int, width: int) -> str:
        assert self._recording is not None
        name = frame_name(self._recording, frame)
        owner = self._recording.owners.of(frame)
        if owner is None:
            return brief_function(name).rpartition(".")[2]
        if len(name) <= width or "." not in owner.path:
            return name
        return name[owner.path.rindex(".") + 1 :]  # siblings differ at the path's end

    def _attempt_name(self, attempt: int, width: int) -> str:
        assert self._recording is not None
        known = self._recording.attempt(attempt)
        translation = self._recording.translation(known.translation)
        name = attempt_name(known, translation).replace("attempt ", "#")
        return f"{name} {brief_compiled_name(self._recording, translation)}"

    def _attempt_role(self, attempt: int) -> str:
        assert self._recording is not None
        walk = self._recording.translation(self._recording.attempt(attempt).translation)
        return _PHASE_ROLES.get(walk.phase, "")

    def _counts(self, kind: EventKind, window: Window) -> list[int]:
        """What happened in each column; what happened once is marked once, however wide a moment
        is."""
        counts = self.timeline.counts(kind, window)
        if window.span < window.width:
            first = [window.moments(column)[0] for column in range(window.width)]
            counts = [
                0 if at and first[at] == first[at - 1] else count for at, count in enumerate(counts)
            ]
        return counts

    def _axis(self, window: Window) -> list[Span]:
        """Numbers of moments, and behind them what the signs mean that are seen."""
        legend: list[Span] = []
        for kind, (sign, role) in _SIGNS.items():
            if any(self.timeline.counts(kind, window)):
                legend += [(f"  {sign}", role), (f" {_NAMES[kind]}", "dim")]
        room = window.width - sum(len(text) for text, _ in legend)
        text, before = "", -1
        for column in range(0, max(0, room - _TICK), _TICK):
            first = window.moments(column)[0]
            if first != before:  # few moments are as wide as several numbers
                text, before = f"{text:<{column}}╵{first:,}", first
        return [(f"{text:<{max(0, room)}}"[: max(0, room)], "dim"), *legend]

    def _draw_marks(self, window: Window) -> list[Span]:
        """All marks in one row: the rarest wins a column, guards and nodes are its height."""
        amounts = [
            guards + nodes
            for guards, nodes in zip(
                self._counts(EventKind.GUARD, window),
                self._counts(EventKind.NODE, window),
                strict=True,
            )
        ]
        spans: list[Span] = [(bar, "type") for bar in _bars(amounts)]
        rare = (EventKind.GRAPH_BREAK, EventKind.RESTART, *LOOKUP_MARKS)
        return self._signs(spans, rare, window)

    def _signs(self, spans: list[Span], kinds: Sequence[EventKind], window: Window) -> list[Span]:
        """Put the signs of some kinds over what a row shows; the first kind wins a column."""
        for kind in reversed(kinds):
            for column, count in enumerate(self._counts(kind, window)):
                if count:
                    spans[column] = _SIGNS[kind]
        return spans

    # Moving

    def _choose(self, moment: MomentId) -> None:
        self.post_message(self.Chosen(max(1, min(moment, self.newest))))

    def action_move(self, columns: int) -> None:
        if self.window is not None:
            step = max(1, round(self.window.span / self.window.width))
            self._choose(self.moment + columns * step)

    def action_page(self, direction: int) -> None:
        if self.window is not None:
            self._choose(self.moment + direction * max(1, self.window.span // 4))

    def action_end(self, direction: int) -> None:
        self._choose(self.newest if direction > 0 else 1)

    def action_zoom(self, factor: float) -> None:
        if self.window is None:
            return
        self.window = self.window.zoomed(factor, self.moment or self.newest, max(self.newest, 1))
        self._follows = self.window.span >= self.newest
        self.draw_anew()

    def action_deeper(self, step: int) -> None:
        room = self._depth_rows()
        deepest = max(0, self.timeline.depth - room)
        self._top_depth = max(0, min(self._top_depth + step, deepest))
        self.draw_anew()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if self.window is None or event.x < _GUTTER or not self.newest:
            return
        self._choose(self.window.moments(event.x - _GUTTER)[0])

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_zoom(0.5)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_zoom(2.0)


class TimelinePane(Pane):
    """A strip along the bottom of a wide screen, a tab on a narrow one."""

    NAME = "timeline"
    STEADY = True
    HELP = "The whole session: attempts and frames by depth, breaks ✗, restarts ↻, guards, nodes."

    def compose(self) -> ComposeResult:
        yield TimelineView()

    @property
    def view(self) -> TimelineView:
        """The picture."""
        return self.query_one(TimelineView)

    @property
    def wanted(self) -> int:
        return self.view.wanted

    def depends(self, snapshot: Snapshot) -> Hashable:
        return snapshot.moment, snapshot.newest, snapshot.status, snapshot.cache_events

    def title(self, snapshot: Snapshot) -> str:
        window = self.view.window
        if window is None or window.span >= snapshot.newest:
            return "timeline"
        return f"timeline {window.first:,}-{window.first + window.span - 1:,}"

    def show(self, snapshot: Snapshot) -> None:
        self.view.look_at(snapshot)

    def on_timeline_view_chosen(self, message: TimelineView.Chosen) -> None:
        self.post_message(self.Goto(message.moment))


def _bars(counts: list[int]) -> str:
    """Counts as a row of bars; a single one is always seen, and low."""
    most = max(len(_BARS) // 2, *counts)
    return "".join(_BARS[(count * (len(_BARS) - 1)) // most] if count else " " for count in counts)
