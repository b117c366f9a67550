"""The call stack: inlined frames, the translated frame, and the program's own frames below it."""

from __future__ import annotations

import os.path
from typing import NamedTuple

from textual.app import ComposeResult

from stepper.client.frame_names import frame_name
from stepper.client.names import brief_function
from stepper.model.trace import Phase
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, Span
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot, line_at

_KINDS = {
    Phase.TRANSLATE: ("translated", "inlined"),
    Phase.LOOKUP: ("lookup", "entry"),
    Phase.EXECUTE: ("executed", "called"),
}
"""What the outermost frame of a walk is, and what the others are."""


class _Call(NamedTuple):
    position: int | None
    """Position in the symbolic call stack; None: a frame of the running program."""
    kind: str
    function: str
    filename: str
    line: int | None


class CallsPane(Pane):
    """Innermost first. Enter or a click looks at a frame: the other panes then show that one."""

    NAME = "calls"
    HELP = "The call stack: inlined frames, the translated frame, the program's own frames."

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[_Call] = []

    def compose(self) -> ComposeResult:
        lines = Lines(empty="no frames yet")
        lines.opens = True
        yield lines

    @property
    def lines(self) -> Lines:
        """The list of frames."""
        return self.query_one(Lines)

    def show(self, snapshot: Snapshot) -> None:
        self._calls = _calls(snapshot)
        depth = len(snapshot.state.frames) if snapshot.state else 0
        self.lines.show(
            len(self._calls), self._draw, cursor=max(0, depth - 1 - snapshot.frame_index)
        )

    def _draw(self, at: int) -> Row:
        assert self.snapshot is not None
        call = self._calls[at]
        selected = call.position is not None and call.position == self.snapshot.frame_index
        role = "dim" if call.position is None else "function"
        spans: tuple[Span, ...] = (
            ("▶ " if selected else "  ", "key"),
            (brief_function(call.function), role),
            (f"  {os.path.basename(call.filename)}:{call.line or '?'}", "dim"),
            (f"  {call.kind}", "dim"),
        )
        return Row(spans, "current" if selected else "")

    def on_lines_activated(self, message: Lines.Activated) -> None:
        self._select(message.index)

    def on_lines_clicked(self, message: Lines.Clicked) -> None:
        self._select(message.index)

    def _select(self, at: int) -> None:
        call = self._calls[at]
        if call.position is None:
            text = (
                "a frame of the running program: it is not translated, so there is no more to see"
            )
            self.post_message(self.Say(text))
        else:
            self.post_message(self.SelectFrame(call.position))


def _calls(snapshot: Snapshot) -> list[_Call]:
    recording, state = snapshot.recording, snapshot.state
    if recording is None or state is None:
        return []
    calls: list[_Call] = []
    for index, frame_state in enumerate(state.frames):
        code = recording.code(recording.frame(frame_state.frame).code)
        name = frame_name(recording, frame_state.frame)
        kind = _KINDS[snapshot.phase][index > 0]
        calls.append(_Call(index, kind, name, code.filename, line_at(code, frame_state.ip)))
    calls.reverse()
    if snapshot.translation:
        calls += [
            _Call(None, "running", frame.function, frame.filename, frame.line)
            for frame in reversed(snapshot.translation.python_stack)
        ]
    return calls
