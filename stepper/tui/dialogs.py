"""Small questions: how to leave a living program, and which of several things is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

from stepper.model.trace import EventKind
from stepper.tui.presets import PRESETS

Leaving = Literal["kill", "detach", "cancel"]
Chosen = TypeVar("Chosen")


class QuitScreen(ModalScreen[Leaving]):
    """Asks what becomes of a program that still lives."""

    DEFAULT_CSS = """
    QuitScreen { align: center middle; }
    QuitScreen Vertical {
        width: 60; max-width: 90%; height: auto; border: round $warning; padding: 0 1;
        background: $surface;
    }
    QuitScreen OptionList { height: auto; border: none !important; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "answer('kill')", "Kill"),
        Binding("d", "answer('detach')", "Detach"),
        Binding("c,escape,q", "answer('cancel')", "Cancel"),
    ]

    def on_mount(self) -> None:
        # Enter on what stands there at first must not cost the run.
        options = self.query_one(OptionList)
        options.highlighted = options.get_option_index("cancel")

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label("The program is still alive.", markup=False)
            yield OptionList(
                Option("k  kill it; the recording is kept", id="kill"),
                Option("d  detach: it runs on without the debugger", id="detach"),
                Option("c  cancel: stay here", id="cancel"),
                markup=False,
            )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.action_answer(event.option.id or "cancel")

    def action_answer(self, answer: str) -> None:
        self.dismiss("kill" if answer == "kill" else "detach" if answer == "detach" else "cancel")


class ChoiceScreen(ModalScreen[Chosen | None]):
    """Asks for one of several; leaving it chooses none. Who inherits it says what a choice means,
    in `on_option_list_option_selected`."""

    DEFAULT_CSS = """
    ChoiceScreen { align: center middle; }
    ChoiceScreen Vertical {
        width: 64; max-width: 95%; height: auto; max-height: 90%; border: round $primary;
        padding: 0 1; background: $surface;
    }
    ChoiceScreen OptionList { height: auto; max-height: 16; border: none !important; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "leave", "Leave")]

    def __init__(self, question: str, choices: Sequence[tuple[str, str]]) -> None:
        """
        Args:
            question: stands above.
            choices: for each its id and its line.
        """
        super().__init__()
        self._question = question
        self._choices = choices

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(self._question, markup=False)
            yield OptionList(*(Option(line, id=id) for id, line in self._choices), markup=False)

    def action_leave(self) -> None:
        self.dismiss(None)


class PresetScreen(ChoiceScreen[str]):
    """Chooses which panes stand where."""

    DEFAULT_CSS = "PresetScreen Vertical { width: 106; max-width: 95%; }"

    def __init__(self, chosen: str) -> None:
        """
        Args:
            chosen: the preset in use.
        """
        super().__init__(
            "Arrange the panes for what?",
            [(preset.name, f"{preset.name:<11}{preset.help}") for preset in PRESETS],
        )
        self._chosen = chosen

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.highlighted = options.get_option_index(self._chosen)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


class EventScreen(ChoiceScreen[EventKind]):
    """Chooses the kind of event that `.` and `,` go to."""

    DEFAULT_CSS = "EventScreen Vertical { width: 46; max-width: 90%; }"

    def __init__(self, counts: Sequence[tuple[EventKind, int]], chosen: EventKind | None) -> None:
        """
        Args:
            counts: the kinds, each with how many events of it there are.
            chosen: the kind chosen before.
        """
        super().__init__(
            "Go to events of which kind?",
            [(kind, f"{kind:<14}{count:>9,}") for kind, count in counts],
        )
        self._kinds = [kind for kind, _ in counts]
        self._chosen = chosen

    def on_mount(self) -> None:
        self.query_one(OptionList).highlighted = (
            self._kinds.index(self._chosen) if self._chosen in self._kinds else 0
        )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(EventKind(event.option.id or ""))
