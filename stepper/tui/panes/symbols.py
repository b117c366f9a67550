"""The symbols that sizes and numbers have, and what became of each, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from stepper.analysis.shape_lines import LATE
from stepper.analysis.shapes import Symbol
from stepper.analysis.symbol_lines import no_symbol, range_text, stands_for, step_text
from stepper.client.text import place_text, plural
from stepper.model.program import PythonFrame
from stepper.model.shapes import ShapeStep
from stepper.model.trace import Phase
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, row
from stepper.tui.snapshot import Change, Snapshot
from stepper.tui.tree_lines import Branch
from stepper.tui.tree_pane import TreePane


class SymbolsPane(TreePane):
    """A row for each symbol; under it, once opened, each step that made it what it is, and torch's
    own frames that asked. Enter on a step goes to its moment. Last comes what a backward decided
    that was compiled later."""

    NAME = "symbols"
    HELP = "The symbols of sizes: state, range, what they are; opened: the steps that made them so."
    PHASES = frozenset({Phase.TRANSLATE})

    def has_something(self, snapshot: Snapshot) -> bool:
        return super().has_something(snapshot) and bool(snapshot.symbols)

    def show(self, snapshot: Snapshot) -> None:
        recording = snapshot.recording if snapshot.state else None
        empty = "nothing yet" if recording is None else no_symbol(recording)
        rows = [_symbol(snapshot, each) for each in snapshot.symbols]
        if late := snapshot.late_shape_steps:
            words = f"  {LATE[late[0].late]}: {plural(len(late), 'decision')}"
            rows.append(Branch("late", lambda: row(words), partial(_steps, snapshot, late)))
        self.lines.show_tree(rows, empty=empty)

    def on_lines_activated(self, message: Lines.Activated) -> None:
        branch = self.lines.branch_at(message.index)
        if branch is not None and isinstance(branch.subject, ShapeStep):
            self.post_message(self.Goto(branch.subject.moment, str(branch.subject.kind)))


def _symbol(snapshot: Snapshot, symbol: Symbol) -> Branch:
    return Branch(
        symbol.name,
        partial(_symbol_row, snapshot, symbol),
        lambda: _steps(snapshot, symbol.steps),
    )


def _symbol_row(snapshot: Snapshot, symbol: Symbol) -> Row:
    """Marked when the last step has made it, or made something else of it."""
    changed = any(snapshot.is_new(step.moment) for step in symbol.steps)
    born = snapshot.is_new(symbol.born.moment)
    sign = Change.NEW if born else Change.CHANGED if changed else Change.SAME
    return row(
        (f"{sign} ", sign.role),
        (symbol.name, "type"),
        (f"  {symbol.state}", "new" if changed else ""),
        (f"  {stands_for(symbol)}", "source"),
        f"  {range_text(symbol)}",
    )


def _steps(snapshot: Snapshot, steps: Sequence[ShapeStep]) -> Sequence[Branch]:
    found: list[Branch] = []
    for step in steps:
        draw = partial(_step_row, snapshot, step)
        found.append(Branch(("step", step.id), draw, None, step))
        if step.asked_by:
            # By itself: Enter on the step goes to its moment.
            innermost, *others = step.asked_by
            under = partial(_frames, tuple(others)) if others else None
            draw = partial(_frame_row, "  asked in ", innermost)
            found.append(Branch(("torch", step.id), draw, under))
    return found


def _step_row(snapshot: Snapshot, step: ShapeStep) -> Row:
    role = "new" if snapshot.is_new(step.moment) else ""
    cwd = snapshot.recording.facts.cwd if snapshot.recording is not None else ""
    return row((f"{step.moment}  ", "number"), (step_text(step, cwd), role))


def _frames(frames: tuple[PythonFrame, ...]) -> Sequence[Branch]:
    return [Branch(at, partial(_frame_row, "  from ", frame)) for at, frame in enumerate(frames)]


def _frame_row(how: str, frame: PythonFrame) -> Row:
    return row((f"{how}{place_text(frame)}", "dim"))
