"""The stack and the locals, symbolic or real, as trees of values; what a check has found."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from stepper.model.trace import Phase
from stepper.tui.lines import Lines
from stepper.tui.questions import Question, on_guards_of
from stepper.tui.snapshot import Change, Snapshot
from stepper.tui.tree_lines import Branch
from stepper.tui.tree_pane import TreePane
from stepper.tui.value_tree import Subject, slot_branch


class _ValuesPane(TreePane):
    """A tree of values; a row's origin is a key away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "o", "origin", "Origin", tooltip="Go to the moment that made this value, node or guard"
        )
    ]
    EMPTY: ClassVar[str]

    def show(self, snapshot: Snapshot) -> None:
        empty = self.EMPTY if snapshot.state else None
        if snapshot.phase is not Phase.TRANSLATE and empty:
            empty = empty.replace("symbolic ", "")
        self.lines.show_tree(self.roots(snapshot), empty=empty)

    def roots(self, snapshot: Snapshot) -> list[Branch]:
        """The rows of the first level."""
        raise TypeError(f"{type(self).__name__} has no rows")

    def questions_here(self) -> list[Question]:
        branch, snapshot = self.lines.branch_at(self.lines.cursor), self.snapshot
        if branch is None or snapshot is None or not isinstance(branch.subject, Subject):
            return []
        ref, attempt = branch.subject.ref, snapshot.attempt
        value = (
            snapshot.value(ref) if isinstance(ref, int) and branch.subject.of == "value" else None
        )
        if value is None or not value.guards or attempt is None:
            return []
        return [on_guards_of(attempt.id, value.node or str(branch.key), value.guards)]

    def action_origin(self) -> None:
        branch = self.lines.branch_at(self.lines.cursor)
        if branch is not None and isinstance(branch.subject, Subject):
            self.post_message(self.GotoOrigin(branch.subject.of, branch.subject.ref))
        else:
            self.post_message(self.Say("this row has no origin: put the cursor on a value"))

    def on_lines_activated(self, message: Lines.Activated) -> None:
        self.action_origin()


class StackPane(_ValuesPane):
    """The top of the stack is the first row; entries that the last step popped stand above it."""

    NAME = "stack"
    HELP = "The symbolic stack, top first; what the last step popped or changed is marked."
    PHASES = frozenset({Phase.TRANSLATE, Phase.EXECUTE})
    EMPTY = "the symbolic stack is empty"

    def title(self, snapshot: Snapshot) -> str:
        return f"stack {len(snapshot.frame_state.stack)}" if snapshot.frame_state else "stack"

    def roots(self, snapshot: Snapshot) -> list[Branch]:
        slots = snapshot.stack
        top = sum(1 for slot in slots if slot.change is not Change.GONE) - 1
        branches: list[Branch] = []
        for at in range(len(slots) - 1, -1, -1):
            label = "TOS" if at == top else f"[{at}]"
            branches.append(slot_branch(snapshot, slots[at], (f"{label:<4}", "name")))
        return branches


_ORDER = ("expected", "actual", "verdict", "differs", "because of", "time")
"""What a lookup tells of a check, what matters most first."""


def _rank(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


class LocalsPane(_ValuesPane):
    """Local variables by name; those that the last step set or deleted are marked."""

    NAME = "locals"
    HELP = "The symbolic locals; what the last step set, changed or deleted is marked."
    EMPTY = "there are no symbolic locals"

    def title(self, snapshot: Snapshot) -> str:
        if snapshot.phase is Phase.LOOKUP:
            return "check"
        return f"locals {len(snapshot.frame_state.locals)}" if snapshot.frame_state else "locals"

    def roots(self, snapshot: Snapshot) -> list[Branch]:
        slots = snapshot.locals
        if snapshot.phase is Phase.LOOKUP:
            slots = sorted(slots, key=lambda slot: _rank(slot.label))
        width = min(16, max((len(slot.label) for slot in slots), default=0))
        return [slot_branch(snapshot, slot, (f"{slot.label:<{width}}", "name")) for slot in slots]
