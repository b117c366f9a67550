"""Asks whether the program of a recording may be run again, and shows all that would be run."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

from stepper.client.plan import Plan
from stepper.model.printing import printable


class ReplayScreen(ModalScreen[bool]):
    """True: the user wants it to be run."""

    DEFAULT_CSS = """
    ReplayScreen { align: center middle; }
    ReplayScreen > Vertical {
        width: 100; max-width: 95%; height: auto; max-height: 95%; border: round $warning;
        padding: 0 1; background: $surface;
    }
    ReplayScreen VerticalScroll { height: auto; max-height: 14; margin: 1 0; }
    ReplayScreen Label { width: 100%; }
    ReplayScreen OptionList { height: auto; border: none !important; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "answer(True)", "Run it"),
        Binding("c,escape,q", "answer(False)", "Cancel"),
    ]

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label("Run this again on this machine, with all that it does?", markup=False)
            with VerticalScroll(can_focus=False):
                for line in self._plan.lines():
                    yield Label(printable(line), markup=False)
            yield OptionList(
                Option("c  cancel: run nothing", id="cancel"),
                Option("r  run it, as often as the question needs", id="run"),
                markup=False,
            )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.action_answer(event.option.id == "run")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)
