"""The source of the function that is interpreted, with the place where the interpreter stands.

    ●▶  43▍┃    scaled = h * self.scale

From the left: breakpoint, current line, number, what part of the frame's time tracing the line took
with all that was inlined from there, and whether it was executed. With `v` the times are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.timer import Timer

from stepper.analysis.line_heat import Heat, line_heat
from stepper.client.frame_names import frame_name
from stepper.client.names import brief_function
from stepper.client.text import columns_of, time_words
from stepper.model.breakpoint import Breakpoint, BreakpointKind
from stepper.model.matching import entry_index, entry_matches, function_matches, path_matches
from stepper.model.program import Code
from stepper.model.trace import MomentId, Phase
from stepper.recording.reader import Recording
from stepper.tui.beside import Asked, Beside
from stepper.tui.highlight import mark, python_spans
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, Span
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot, Status

_GUTTER = 4
"""Columns left of the line number in which a click toggles a breakpoint."""

_TEXT = 8
"""Columns left of the text itself."""
_TOTAL, _OWN = 7, 8
"""So many more with times as numbers: a line's total, and its own where there is room."""
_ROOMY = 60
"""Columns from which there is."""
_HEAT = " ▏▎▍▌▋▊▉█"
"""From nothing to all of the frame's time."""
_REST = 0.15
"""Seconds without a key after which a frame's time is added up."""


class SourcePane(Pane):
    """The whole function; `▶` is the current line, `┃` lines that were executed."""

    NAME = "source"
    HELP = "The function's source: current line, executed lines, breakpoints, heat by time."
    PHASES = frozenset({Phase.TRANSLATE, Phase.EXECUTE})

    BINDINGS: ClassVar[list[BindingType]] = [Binding("v,V", "times", "Times")]

    def __init__(self) -> None:
        super().__init__()
        self.times = False
        """Whether each line's time is told in numbers."""
        self._beside = Beside(self)
        self._rest: Timer | None = None
        self._heats: LRUCache[tuple[int, MomentId], dict[int, Heat]] = LRUCache(64)
        """By the frame, and of one that is not over by the newest moment, too."""
        self._heat: dict[int, Heat] = {}
        self._code: Code | None = None
        self._spans: list[tuple[Span, ...]] = []
        self._indent = 0
        """Columns that all lines are indented by; not shown, for width is dear."""
        self._executed: frozenset[int] = frozenset()
        self._breakpoints: dict[int, str] = {}

    def compose(self) -> ComposeResult:
        lines = Lines(empty="no source: no translation has been recorded yet")
        yield lines

    def _freeze(self) -> None:
        """Keep the gutter in view when the text is scrolled sideways."""
        times = _TOTAL + _OWN * self._roomy if self.times else 0
        self.lines.frozen = _TEXT + times

    @property
    def _roomy(self) -> bool:
        return self.size.width >= _ROOMY

    @property
    def lines(self) -> Lines:
        """The list of source lines."""
        return self.query_one(Lines)

    def on_unmount(self) -> None:
        self._beside.close()

    def title(self, snapshot: Snapshot) -> str:
        if snapshot.recording is None or snapshot.frame is None:
            return "source"
        name = brief_function(frame_name(snapshot.recording, snapshot.frame.id))
        whole = sum(heat.total for heat in self._heat.values())
        parts = "total, own" if self._roomy else "total"
        took = f" {time_words(whole)}: {parts}" if self.times and whole else ""
        return f"source {name}{took}"

    # Heat

    def _look_for_heat(self, snapshot: Snapshot) -> None:
        """Show the frame's heat if it is known, and have it found out when no key comes."""
        if self._rest is not None:
            self._rest.stop()
        key = _heated(snapshot)
        known = self._heats.get(key) if key is not None else {}
        self._heat = known or {}
        if known is None:
            self._rest = self.set_timer(_REST, self._add_up)

    def _add_up(self) -> None:
        snapshot = self.snapshot
        key = _heated(snapshot) if snapshot is not None else None
        if snapshot is not None and snapshot.recording is not None and key is not None:
            over = snapshot.status is Status.ENDED

            def find(reader: Recording) -> tuple[tuple[int, MomentId], dict[int, Heat]]:
                return key, line_heat(reader, key[0])

            self._beside.ask(Asked(snapshot.recording, snapshot.moment, find, over))

    def on_beside_found(self, message: Beside.Found) -> None:
        message.stop()
        if message.found is None:
            self.post_message(self.Say(f"the lines' time is {message.error}"))
            return
        key, heat = message.found
        self._heats[key] = heat
        if self.snapshot is not None and key == _heated(self.snapshot):
            self._heat = heat
            self.lines.redraw()
            self.post_message(self.Retitled())

    def show_times(self, shown: bool) -> None:
        """Tell each line's time in numbers, or not."""
        self.times = shown
        self._freeze()
        self.lines.redraw()
        self._show_columns()
        self.post_message(self.Retitled())

    def action_times(self) -> None:
        self.show_times(not self.times)

    def _heat_spans(self, number: int) -> tuple[Span, ...]:
        heat = self._heat.get(number)
        whole = sum(each.total for each in self._heat.values())
        sign = " "
        if heat is not None and whole:
            sign = _HEAT[min(8, -(-8 * heat.total // whole))]
        if not self.times:
            return ((sign, "heat"),)
        total, own = ("", "") if heat is None else map(time_words, (heat.total, heat.own))
        own_span: Span = (f"{own:>{_OWN}}" if self._roomy else "", "dim")
        return ((f"{total:>{_TOTAL}}", "heat"), own_span, (sign, "heat"))

    # The text

    def show(self, snapshot: Snapshot) -> None:
        self._look_for_heat(snapshot)
        code = snapshot.code
        if code is not self._code:
            self._code = code
            source = code.source if code else ()
            self._indent = _common_indent(source)
            self._spans = python_spans([line[self._indent :] for line in source])
        if code is None:
            self.lines.show(0, self._draw)
            return
        instructions = code.instructions
        self._executed = frozenset(
            line for ip in snapshot.executed if (line := instructions[ip].line) is not None
        )
        self._breakpoints = _breakpoint_signs(snapshot, code)
        line = snapshot.line
        cursor = None
        if line is not None and code.source:
            cursor = line - code.source_first_line
        empty = f"no source found for {code.label} ({code.filename}): see its bytecode"
        self.lines.show(len(code.source), self._draw, cursor=cursor, empty=empty)
        self._show_columns()

    def _show_columns(self) -> None:
        """Bring the part of the line into view that the current instruction stands for."""
        line, code = self.snapshot.line if self.snapshot else None, self._code
        if line is None or code is None:
            return
        index = line - code.source_first_line
        if 0 <= index < len(code.source):
            start, end = self._columns(index)
            left = self.lines.frozen
            self.lines.reveal_columns(left + start, left + end)

    def on_resize(self) -> None:
        self._freeze()
        self.lines.redraw()
        self._show_columns()

    def _draw(self, index: int) -> Row:
        snapshot, code = self.snapshot, self._code
        assert snapshot is not None
        assert code is not None
        number = code.source_first_line + index
        current = number == snapshot.line
        spans: tuple[Span, ...] = self._spans[index]
        if current:
            start, end = self._columns(index)
            spans = tuple(mark(spans, start, end, "column"))
        executed = number in self._executed
        gutter: tuple[Span, ...] = (
            (self._breakpoints.get(number, " "), "breakpoint"),
            (("▶" if snapshot.innermost else "▷") if current else " ", "here"),
            (f"{number:>4}", "number"),
            *self._heat_spans(number),
            ("┃" if executed else "│", "executed" if executed else "dim"),
        )
        return Row((*gutter, *spans), "current" if current else "")

    def _columns(self, index: int) -> tuple[int, int]:
        """The part of a line that the current instruction stands for; nothing when unknown."""
        assert self.snapshot is not None
        assert self._code is not None
        if self.snapshot.ip >= len(self._code.instructions):
            return 0, 0
        start, end = columns_of(self._code, self._code.instructions[self.snapshot.ip])
        return max(0, start - self._indent), max(0, end - self._indent)

    def breakpoint_here(self) -> Breakpoint | None:
        """A breakpoint at the cursor's line."""
        return self._breakpoint_at(self.lines.cursor)

    def line_further_down(self) -> int | None:
        """The cursor's line, when it is below the one at which the interpreter stands."""
        here = self.breakpoint_here()
        line = self.snapshot.line if self.snapshot else None
        return here.number if here and line is not None and here.number > line else None

    def _breakpoint_at(self, index: int) -> Breakpoint | None:
        if self._code is None or index >= len(self._code.source):
            return None
        number = self._code.source_first_line + index
        return Breakpoint(BreakpointKind.LINE, pattern=self._code.filename, number=number)

    def on_lines_clicked(self, message: Lines.Clicked) -> None:
        breakpoint = self._breakpoint_at(message.index)
        if message.column < _GUTTER and breakpoint is not None:
            self.post_message(self.ToggleBreakpoint(breakpoint))


def _heated(snapshot: Snapshot) -> tuple[int, MomentId] | None:
    """The frame whose heat is wanted, and up to which moment; 0: it is over."""
    frame = snapshot.frame
    if frame is None or snapshot.phase is not Phase.TRANSLATE or snapshot.status is Status.RUNNING:
        return None
    return frame.id, 0 if frame.last_moment is not None else snapshot.newest


def _common_indent(lines: Sequence[str]) -> int:
    """How many columns of blanks every line begins with."""
    text = [line for line in lines if line.strip()]
    return min((len(line) - len(line.lstrip(" ")) for line in text), default=0)


def _breakpoint_signs(snapshot: Snapshot, code: Code) -> dict[int, str]:
    """The sign of each line that has a breakpoint: filled when it is enabled."""
    signs: dict[int, str] = {}
    recording, entered = snapshot.recording, None
    if (
        recording is not None
        and snapshot.frame is not None
        and any(each.kind is BreakpointKind.FUNCTION for each in snapshot.breakpoints)
    ):
        entered = recording.owners.entered(snapshot.frame.id)
    entry = entry_index(code)
    for breakpoint in snapshot.breakpoints:
        line = None
        if breakpoint.kind is BreakpointKind.LINE and path_matches(
            breakpoint.pattern, code.filename
        ):
            line = breakpoint.number
        elif breakpoint.kind is BreakpointKind.FUNCTION and (
            function_matches(breakpoint.pattern, code)
            or entry_matches(breakpoint, code, entry, entered)
        ):
            line = code.first_line
        if line is not None and signs.get(line) != "●":
            signs[line] = "●" if breakpoint.enabled else "○"
    return signs
