"""The source of the function that is interpreted, with the place where the interpreter stands."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from stepper.client.frame_names import frame_name
from stepper.client.names import brief_function
from stepper.client.text import columns_of
from stepper.model.breakpoint import Breakpoint, BreakpointKind
from stepper.model.matching import function_matches, path_matches
from stepper.model.program import Code
from stepper.tui.highlight import mark, python_spans
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, Span
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot

_GUTTER = 4
"""Columns left of the line number in which a click toggles a breakpoint."""

_TEXT = 7
"""Columns left of the text itself."""


class SourcePane(Pane):
    """The whole function; `▶` is the current line, `┃` lines that were executed."""

    NAME = "source"
    HELP = "The function's source: current line and columns, executed lines, breakpoints."

    def __init__(self) -> None:
        super().__init__()
        self._code: Code | None = None
        self._spans: list[tuple[Span, ...]] = []
        self._indent = 0
        """Columns that all lines are indented by; not shown, for width is dear."""
        self._executed: frozenset[int] = frozenset()
        self._breakpoints: dict[int, str] = {}

    def compose(self) -> ComposeResult:
        lines = Lines(empty="no source: the program has not reached its first translation yet")
        lines.frozen = _TEXT
        yield lines

    @property
    def lines(self) -> Lines:
        """The list of source lines."""
        return self.query_one(Lines)

    def title(self, snapshot: Snapshot) -> str:
        if snapshot.recording is None or snapshot.frame is None:
            return "source"
        return f"source {brief_function(frame_name(snapshot.recording, snapshot.frame.id))}"

    def show(self, snapshot: Snapshot) -> None:
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
        self._breakpoints = _breakpoint_signs(snapshot.breakpoints, code)
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
            self.lines.reveal_columns(_TEXT + start, _TEXT + end)

    def on_resize(self) -> None:
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
            (("▶" if snapshot.innermost else "▷") if current else " ", "key"),
            (f"{number:>4}", "number"),
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


def _common_indent(lines: Sequence[str]) -> int:
    """How many columns of blanks every line begins with."""
    text = [line for line in lines if line.strip()]
    return min((len(line) - len(line.lstrip(" ")) for line in text), default=0)


def _breakpoint_signs(breakpoints: tuple[Breakpoint, ...], code: Code) -> dict[int, str]:
    """The sign of each line that has a breakpoint: filled when it is enabled."""
    signs: dict[int, str] = {}
    for breakpoint in breakpoints:
        line = None
        if breakpoint.kind is BreakpointKind.LINE and path_matches(
            breakpoint.pattern, code.filename
        ):
            line = breakpoint.number
        elif breakpoint.kind is BreakpointKind.FUNCTION and function_matches(
            breakpoint.pattern, code
        ):
            line = code.first_line
        if line is not None and signs.get(line) != "●":
            signs[line] = "●" if breakpoint.enabled else "○"
    return signs
