"""The line in which a short answer is typed, in the place of the status line."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, Label


class Prompt(Horizontal):
    """Asks for one text; Esc leaves without an answer."""

    DEFAULT_CSS = """
    Prompt { height: 1; }
    Prompt Label { width: auto; text-style: bold; padding: 0 1 0 0; }
    Prompt Input { width: 1fr; height: 1; border: none; padding: 0; background: $background; }
    Prompt Input:focus { border: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self._answer: Callable[[str], None] | None = None
        self._before: Widget | None = None

    def compose(self) -> ComposeResult:
        yield Label("", markup=False)
        yield Input(compact=True)

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self._answer is not None

    def ask(self, question: str, answer: Callable[[str], None], *, initial: str = "") -> None:
        """Ask, and call `answer` with what was typed; not at all when the user leaves."""
        if not self.is_open:
            self._before = self.screen.focused
        self._answer = answer
        self.query_one(Label).update(question)
        field = self.query_one(Input)
        field.value = initial
        # At once, and not by messages: what is typed right behind the key belongs here already.
        self.display = True
        self.screen.set_focus(field, scroll_visible=False)

    def leave(self) -> None:
        """Close it, and give the keyboard back to who had it."""
        self._answer = None
        self.display = False
        if self._before is not None and self._before.is_attached:
            self.screen.set_focus(self._before, scroll_visible=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        answer, text = self._answer, event.value
        self.leave()
        if answer is not None:
            answer(text)
