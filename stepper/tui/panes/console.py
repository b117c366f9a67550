"""Expressions, evaluated where the program stands still."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from stepper.client.session import Session
from stepper.client.value_paths import traced
from stepper.model.control import Response
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, row
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot, Status

_KEPT_LINES = 10_000

_NAMES = "stack, locals, inst, graph, guards, tx"


class ConsoleInput(Input):
    """The line in which an expression is typed; up and down go through earlier ones."""

    DEFAULT_CSS = """
    ConsoleInput { height: 1; border: none; padding: 0; background: $surface; }
    ConsoleInput:focus { border: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "earlier(-1)", "Earlier expression", show=False),
        Binding("down", "earlier(1)", "Later expression", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="console-input")
        self.history: list[str] = []
        self._at = 0
        self._typed = ""

    def remember(self, expression: str) -> None:
        """Add an expression to the history, once when it is repeated."""
        if not self.history or self.history[-1] != expression:
            self.history.append(expression)
        self._at = len(self.history)
        self._typed = ""

    def action_earlier(self, step: int) -> None:
        if self._at == len(self.history):
            self._typed = self.value
        self._at = max(0, min(self._at + step, len(self.history)))
        self.value = self.history[self._at] if self._at < len(self.history) else self._typed
        self.cursor_position = len(self.value)


class ConsolePane(Pane):
    """Evaluates in the program itself, in the symbolic frame that is looked at."""

    NAME = "console"
    HELP = f"Evaluates Python at a live stop, over {_NAMES}."
    LEAST = 8

    class Answered(Message):
        """The program has answered."""

        def __init__(self, exchange: list[Row], response: Response) -> None:
            super().__init__()
            self.exchange = exchange
            self.response = response

    def __init__(self) -> None:
        super().__init__()
        self._exchanges: list[list[Row]] = []
        """Each question with what was answered: an answer stands under its question, also when
        another question was asked meanwhile."""

    def compose(self) -> ComposeResult:
        yield Lines(empty="", id="console-lines")
        yield ConsoleInput()

    @property
    def lines(self) -> Lines:
        """What was asked and answered."""
        return self.query_one(Lines)

    @property
    def _session(self) -> Session:
        session: Session = self.app.session  # type: ignore[attr-defined]  # the App is a StepperApp
        return session

    def depends(self, snapshot: Snapshot) -> Hashable:
        return snapshot.moment, snapshot.status, snapshot.frame_index

    def focus_inside(self) -> None:
        self.screen.set_focus(self.query_one(ConsoleInput), scroll_visible=False)

    def show(self, snapshot: Snapshot) -> None:
        hint = f"evaluates over {_NAMES}"
        why_not = _why_not(snapshot)
        self.query_one(ConsoleInput).placeholder = ">>>"
        self._draw_log(empty=why_not or hint)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        expression = event.value.strip()
        if not expression:
            return
        field = self.query_one(ConsoleInput)
        field.remember(expression)
        field.value = ""
        exchange = [row((">>> ", "key"), expression)]
        self._exchanges.append(exchange)
        snapshot = self.snapshot
        why_not = _why_not(snapshot) if snapshot else "there is no program yet"
        if snapshot is None or why_not:
            exchange.append(row((why_not, "warning")))
            self._draw_log(to_end=True)
            return
        frame = None
        if known := _recorded(snapshot, expression):
            exchange.append(row(known))
            self._draw_log(to_end=True)
            return
        if snapshot.at_stop:
            # The innermost one need not be named, and may be gone already: when an entry is made,
            # the translation is over.
            if snapshot.frame_state is not None and not snapshot.innermost:
                frame = snapshot.frame_state.frame
        elif snapshot.stopped is not None:
            text = f"evaluated where the program stands, at moment {snapshot.stopped.moment}"
            exchange.append(row((f"{text}; you look at moment {snapshot.moment}", "dim")))
        self._draw_log(to_end=True)
        # The answer comes on the thread that reads the channel: only a message may cross over.
        self._session.evaluate(expression, frame).add_done_callback(
            lambda future: self.post_message(self.Answered(exchange, future.result()))
        )

    def on_console_pane_answered(self, message: Answered) -> None:
        response = message.response
        message.exchange += [row((line, "dim")) for line in response.printed.splitlines()]
        role = "" if response.ok else "error"
        message.exchange += [row((line, role)) for line in response.text.splitlines()]
        self._draw_log(to_end=True)

    def _draw_log(self, *, to_end: bool = False, empty: str | None = None) -> None:
        rows = [row for exchange in self._exchanges for row in exchange]
        while len(rows) > _KEPT_LINES and len(self._exchanges) > 1:
            del rows[: len(self._exchanges.pop(0))]
        cursor = len(rows) - 1 if to_end else None
        self.lines.show(len(rows), rows.__getitem__, cursor=cursor, empty=empty)


def _recorded(snapshot: Snapshot, expression: str) -> str:
    """What is recorded of a local of a traced frame; empty: it is for the program to say."""
    recording, state, frame = snapshot.recording, snapshot.state, snapshot.frame_state
    if not snapshot.at_stop or recording is None or state is None or frame is None:
        return ""
    return traced(recording, state, frame, expression)


def _why_not(snapshot: Snapshot) -> str:
    """Why nothing can be evaluated; empty when it can."""
    match snapshot.status:
        case Status.STOPPED:
            return ""
        case Status.RUNNING | Status.STARTING:
            return "no live stop: the program runs; pause it with Ctrl-C to evaluate in it"
        case Status.ENDED:
            return f"no live stop: the program {snapshot.ended or 'has ended'}"
        case Status.RECORDING:
            return "no live stop: a recording holds descriptions, not the objects themselves"
