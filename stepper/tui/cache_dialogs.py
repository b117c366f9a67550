"""What can be done with a row of the cache, as a menu; bytecode as a text that can be edited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label, OptionList, TextArea

from stepper.tui.dialogs import ChoiceScreen


class ActionsScreen(ChoiceScreen[str]):
    """Chooses an action; a letter chooses at once."""

    def __init__(self, title: str, actions: Sequence[tuple[str, str, str]]) -> None:
        """
        Args:
            title: what the actions are about.
            actions: for each its key, the name of the action and what it does.
        """
        super().__init__(title, [(name, f"{key}  {text}") for key, name, text in actions])
        for key, name, _ in actions:
            self._bindings.bind(key, f"choose('{name}')", show=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_choose(self, name: str) -> None:
        self.dismiss(name)


class BytecodeScreen(ModalScreen[None]):
    """Lets a person edit bytecode as text. It stays until the program has taken the text, so that
    nothing that was typed is lost with a mistake."""

    DEFAULT_CSS = """
    BytecodeScreen { align: center middle; }
    BytecodeScreen Vertical {
        width: 95%; height: 90%; border: round $primary; padding: 0 1; background: $surface;
    }
    BytecodeScreen TextArea { height: 1fr; border: none !important; padding: 0; }
    BytecodeScreen #message { color: $text-warning; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Make a draft of it", priority=True),
        Binding("escape", "leave", "Leave without a draft", priority=True),
    ]

    def __init__(self, title: str, text: str, save: Callable[[str], None]) -> None:
        """
        Args:
            title: whose bytecode it is.
            text: the bytecode.
            save: has a draft made of the text; answers by `refuse` or `leave`.
        """
        super().__init__()
        self._title = title
        self._text = text
        self._save = save
        self._warned = False

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(f"{self._title}   Ctrl-S makes a draft of it, Esc leaves", markup=False)
            yield TextArea(self._text, show_line_numbers=True)
            yield Label("", id="message", markup=False)

    def action_save(self) -> None:
        self._say("asking the program …")
        self._save(self.query_one(TextArea).text)

    def refuse(self, reason: str) -> None:
        """Say why no draft could be made of the text."""
        if self.is_current:
            self._say(f"no draft was made: {reason}")

    def leave(self) -> None:
        """Close it; not when the user has done so."""
        if self.is_current:
            self.dismiss(None)

    def action_leave(self) -> None:
        if self.query_one(TextArea).text == self._text or self._warned:
            self.leave()
            return
        self._warned = True
        self._say("the text was changed: Esc again throws the changes away, Ctrl-S makes a draft")

    def on_text_area_changed(self) -> None:
        self._warned = False

    def _say(self, text: str) -> None:
        self.query_one("#message", Label).update(text)
