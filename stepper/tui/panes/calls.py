"""The call stack: inlined frames, the translated frame, and the program's own frames below it."""

from __future__ import annotations

import os.path
from collections.abc import Hashable
from typing import NamedTuple

from textual.app import ComposeResult

from stepper.analysis.here import ending_at
from stepper.client.folding import LONG_STACK, Fold, FoldKey, folded, innermost_first, row_of
from stepper.client.frame_names import frame_name
from stepper.client.names import brief_function
from stepper.model.module_path import layer_of
from stepper.model.program import PythonFrame
from stepper.model.trace import Phase
from stepper.tui.lines import Lines
from stepper.tui.listing import FoldLines, fold_row
from stepper.tui.palette import Row
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot, line_at
from stepper.tui.table import Column, Table

_KINDS = {
    Phase.TRANSLATE: ("translated", "inlined"),
    Phase.LOOKUP: ("lookup", "entry"),
    Phase.EXECUTE: ("executed", "called"),
}
"""What the outermost frame of a walk is, and what the others are."""

_COLUMNS = (Column("function", useful=True), Column("place", useful=True), Column("kind"))


class _Call(NamedTuple):
    position: int | None
    """Position in the symbolic call stack; None: a frame of the running program."""
    kind: str
    function: str
    filename: str
    line: int | None
    layer: str = ""
    """The layer of the model that it runs in; empty: none, or it is not known."""


class CallsPane(Pane):
    """Innermost first, a deep stack folded by module path. Enter or a click looks at a frame: the
    other panes then show that one."""

    NAME = "calls"
    HELP = "The call stack: inlined frames, the translated frame, the program's own frames."

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[_Call] = []
        self._rows: list[int | Fold] = []
        self._opened: set[FoldKey] = set()
        self.table: Table | None = None
        """The columns of the rows that are shown."""

    def compose(self) -> ComposeResult:
        lines = FoldLines(self._unfold, empty="no frames yet", id="calls-lines")
        lines.opens = True
        yield lines

    def depends(self, snapshot: Snapshot) -> Hashable:
        return super().depends(snapshot), snapshot.at_stop

    @property
    def lines(self) -> Lines:
        """The list of frames."""
        return self.query_one(Lines)

    def show(self, snapshot: Snapshot) -> None:
        self._calls = _calls(snapshot)
        layers = [call.layer for call in self._calls]
        self._rows = innermost_first(folded(layers, self._opened, long=LONG_STACK))
        selected = (at for at, call in enumerate(self._calls) if call.position is not None)
        places = [at for at in selected if self._calls[at].position == snapshot.frame_index]
        cursor = row_of(self._rows, places[0]) if places else 0
        widths = (
            max((len(brief_function(call.function)) for call in self._calls), default=0),
            max((len(_place(call)) for call in self._calls), default=0),
            1,
        )
        # Beside it stand the mark, the scroll bar and the sign of more.
        self.table = Table(_COLUMNS, widths, self.size.width - 4)
        self.lines.show(len(self._rows), self._draw, cursor=cursor)

    def _unfold(self, index: int, direction: int) -> bool:
        """Open a fold (1), close it (-1), or what it is not (0); False where there is none."""
        row = self._rows[index]
        if not isinstance(row, Fold) or (row.open == (direction > 0) and direction):
            return False
        self._opened ^= {row.key}
        self.redraw()
        self.lines.move_cursor(index)
        return True

    def _draw(self, index: int) -> Row:
        assert self.snapshot is not None
        row = self._rows[index]
        if isinstance(row, Fold):
            return fold_row(row, "call")
        call = self._calls[row]
        selected = call.position is not None and call.position == self.snapshot.frame_index
        role = "dim" if call.position is None else "function"
        assert self.table is not None
        cells = (
            ((brief_function(call.function), role),),
            ((_place(call), "dim"),),
            ((call.kind, "dim"),),
        )
        sign = ("▶ " if selected else "  ", "here")
        return self.table.row(sign, cells, "current" if selected else "")

    def on_resize(self) -> None:
        # Rows are made for a width.
        self.redraw()

    def on_lines_activated(self, message: Lines.Activated) -> None:
        self._select(message.index)

    def on_lines_clicked(self, message: Lines.Clicked) -> None:
        self._select(message.index)

    def _select(self, index: int) -> None:
        row = self._rows[index]
        if isinstance(row, Fold):
            return
        call = self._calls[row]
        if call.position is None:
            text = (
                "a frame of the running program: it is not translated, so there is no more to see"
            )
            self.post_message(self.Say(text))
        else:
            self.post_message(self.SelectFrame(call.position))


def _place(call: _Call) -> str:
    return f"{os.path.basename(call.filename)}:{call.line or '?'}"


def _running(frame: PythonFrame) -> _Call:
    return _Call(None, "running", frame.function, frame.filename, frame.line)


def _calls(snapshot: Snapshot) -> list[_Call]:
    """From the program's outermost."""
    stopped = snapshot.stopped
    if stopped is not None and snapshot.at_stop and stopped.stack:
        # What was recorded last is over: the program is elsewhere.
        return [_running(frame) for frame in stopped.stack]
    recording, state = snapshot.recording, snapshot.state
    if recording is None or state is None:
        return []
    calls: list[_Call] = []
    if snapshot.translation:
        calls += map(_running, snapshot.translation.python_stack)
    for index, frame_state in enumerate(state.frames):
        code = recording.code(recording.frame(frame_state.frame).code)
        name = frame_name(recording, frame_state.frame)
        kind = _KINDS[snapshot.phase][index > 0]
        owner = recording.owners.around(frame_state.frame)
        layer = "" if owner is None else layer_of(owner.path)
        line = line_at(code, frame_state.ip)
        if line is None and snapshot.phase is Phase.LOOKUP and snapshot.translation is not None:
            line = snapshot.translation.line  # of the function that is called
        calls.append(_Call(index, kind, name, code.filename, line, layer))
    if (ending := ending_at(recording, snapshot.moment)) is not None:
        # The program was elsewhere by then, and of its stack the innermost frame is told.
        calls = [call._replace(kind=f"{call.kind} before") for call in calls]
        if (place := recording.place_of_end(ending)) is not None:
            calls.append(_running(place)._replace(kind=str(ending.kind)))
    return calls
