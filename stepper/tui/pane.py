"""What a pane is: a part of the screen that draws snapshots, and the requests that it can make of
the application.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Literal

from textual.containers import Vertical
from textual.message import Message

from stepper.client.events import SessionEvent
from stepper.model.breakpoint import Breakpoint
from stepper.model.trace import MomentId, Phase
from stepper.model.value import ValueId
from stepper.tui.lines import Lines
from stepper.tui.questions import Question
from stepper.tui.snapshot import Snapshot
from stepper.tui.workarounds import QuietWidget


class Pane(QuietWidget, Vertical):
    """A part of the screen with a name and a number.

    A pane composes its widgets and draws a snapshot into them in `show`. It is asked only while it
    is visible, and only when what it `depends` on has changed. It changes nothing: it posts one of
    the messages below, and the next snapshot shows the outcome."""

    NAME: ClassVar[str]
    """One word, on the tab and in commands."""
    HELP: ClassVar[str]
    """What it shows, in one sentence."""
    LEAST: ClassVar[int] = 0
    """Rows that it wants while there is little: more is about to come."""

    STEADY: ClassVar[bool] = False
    """Whether the rows that it needs hardly ever change, so that it has exactly these."""

    DEFAULT_CSS = """
    Pane { width: 1fr; height: 1fr; }
    """

    PHASES: ClassVar[frozenset[Phase]] = frozenset(Phase)
    """The phases of a call of which it has something to show."""

    def __init__(self) -> None:
        super().__init__(id=f"pane-{self.NAME}")
        self.snapshot: Snapshot | None = None
        self.visible_on_desk = False
        self._drawn: Hashable = _NEVER

    def has_something(self, snapshot: Snapshot) -> bool:
        """Whether it is worth its place at a moment, where nobody has asked for it."""
        return snapshot.phase in self.PHASES

    def depends(self, snapshot: Snapshot) -> Hashable:
        """What the drawing depends on: a pane is not drawn again while this stays equal."""
        return snapshot.moment, snapshot.frame_index, snapshot.breakpoints

    def show(self, snapshot: Snapshot) -> None:
        """Draw the snapshot."""
        raise TypeError(f"{type(self).__name__} does not say how to draw a snapshot")

    def title(self, snapshot: Snapshot) -> str:
        """The text of the pane's tab; short, as it is drawn also while the pane is hidden."""
        return self.NAME

    @property
    def wanted(self) -> int:
        """Rows that it needs to show all that it has."""
        needed = sum(
            child.rows if isinstance(child, Lines) else 1
            for child in self.children
            if child.display
        )
        return max(self.LEAST, needed)

    def receive(self, snapshot: Snapshot) -> None:
        """Take the newest snapshot; draw it if anybody can see it."""
        self.snapshot = snapshot
        if not self.visible_on_desk or not self.is_mounted:
            return
        for lines in self.query(Lines):
            lines.tell_final(snapshot.final)
        depends = self.depends(snapshot)
        if depends != self._drawn:
            self._drawn = depends
            self.show(snapshot)

    def redraw(self) -> None:
        """Draw the snapshot again, because something of the pane's own has changed."""
        self._drawn = _NEVER
        if self.snapshot is not None:
            self.receive(self.snapshot)

    def set_visible(self, visible: bool) -> None:
        """Called by the desk when the pane comes to light or goes behind another."""
        self.visible_on_desk = visible
        self.display = visible
        if visible and self.snapshot is not None:
            self.receive(self.snapshot)

    def breakpoint_here(self) -> Breakpoint | None:
        """The breakpoint that `b` sets at the pane's cursor; None: rows are no places."""
        return None

    def offers(self, action: str) -> bool:
        """Whether an action of the pane's bindings means something here, for the line of keys."""
        return True

    def questions_here(self) -> list[Question]:
        """What `W` asks of the row at the pane's cursor, before it asks of the run."""
        return []

    def on_session_event(self, event: SessionEvent) -> None:
        """Take an event of the live session, e.g. the program's output."""

    def focus_inside(self) -> None:
        """Give the keyboard to the pane's first widget that takes it."""
        for widget in self.query("*"):
            if widget.focusable:
                # At once: a key that is typed right behind this belongs to the widget already.
                self.screen.set_focus(widget, scroll_visible=False)
                return

    def on_mount(self) -> None:
        self.redraw()

    # What a pane can ask for

    Say = Lines.Say
    """Say something on the status line."""

    Resized = Lines.Resized
    """More rows may be needed than before, or fewer."""

    class Goto(Message):
        """Show another moment."""

        def __init__(self, moment: MomentId, why: str = "") -> None:
            super().__init__()
            self.moment = moment
            self.why = why
            """What is there, for the status line."""

    class GotoOrigin(Message):
        """Show the moment whose instruction made something."""

        def __init__(self, of: Literal["node", "guard", "value"], ref: str | int | ValueId) -> None:
            super().__init__()
            self.of = of
            self.ref = ref
            """A node's name, a guard's id or a value's id."""

    class SelectFrame(Message):
        """Look at another frame of the symbolic call stack."""

        def __init__(self, index: int | None) -> None:
            super().__init__()
            self.index = index
            """Outermost 0; None: the innermost."""

    class ToggleBreakpoint(Message):
        """Set this breakpoint, or remove it when it is set already."""

        def __init__(self, breakpoint: Breakpoint) -> None:
            super().__init__()
            self.breakpoint = breakpoint

    class SetBreakpoints(Message):
        """Replace all breakpoints."""

        def __init__(self, breakpoints: tuple[Breakpoint, ...]) -> None:
            super().__init__()
            self.breakpoints = breakpoints

    class Retitled(Message):
        """The title has changed without a new snapshot."""

    class Reveal(Message):
        """Bring another pane to light and give it the keyboard."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name


_NEVER = object()
