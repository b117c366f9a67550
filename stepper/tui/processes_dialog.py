"""Which process of a session folder: a dialog on the screen, and before there is one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual.app import App
from textual.widgets import OptionList

from stepper.analysis.processes import process_text
from stepper.model.printing import printable
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.session_folder import SessionFolder, is_session, read
from stepper.tui.dialogs import ChoiceScreen

if TYPE_CHECKING:
    from stepper.tui.app import StepperApp


class ProcessesScreen(ChoiceScreen[str]):
    """Chooses a process that has a recording; gives the path of that."""

    DEFAULT_CSS = "ProcessesScreen Vertical { width: 110; max-width: 95%; }"

    def __init__(self, folder: SessionFolder, now: str = "") -> None:
        """
        Args:
            folder: what there is to choose from.
            now: path of the recording that is being looked at.
        """
        self._paths = [process.recording for process in folder.recorded]
        self._now = next((at for at, path in enumerate(self._paths) if _same(path, now)), 0)
        super().__init__(
            "Look at which process?",
            [(str(at), printable(process_text(each))) for at, each in enumerate(folder.recorded)],
        )

    def on_mount(self) -> None:
        self.query_one(OptionList).highlighted = self._now

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._paths[event.option_index])


class ProcessChooser(App[str]):
    """Nothing but the choice; returns the path that was chosen, None when it was left."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, folder: SessionFolder, theme: str = "") -> None:
        super().__init__()
        self._folder = folder
        if theme:
            self.theme = theme

    def on_mount(self) -> None:
        self.push_screen(ProcessesScreen(self._folder), self.exit)


def choose(app: StepperApp) -> None:
    """Ask for another process of the session folder in which the recording is, and go there."""
    recording = app.session.recording
    path = "" if recording is None else recording.path
    folder = os.path.dirname(os.path.abspath(path))
    if not path or not is_session(folder):
        app.say("this recording is not in a session folder (record --children)", "warning")
        return
    if app.session.live:
        app.say(f"the program is alive: open the others with stepper open {folder}", "warning")
        return
    try:
        found = read(folder)
    except RecordingError as error:
        app.say(str(error), "warning")
        return

    def chosen(other: str | None) -> None:
        if other is None or _same(other, path):
            return
        try:
            Recording.open(other).close()
        except RecordingError as error:
            app.say(str(error), "warning")
            return
        app.other = other
        app.exit(0)

    app.push_screen(ProcessesScreen(found, path), chosen)


def _same(path: str, other: str) -> bool:
    return bool(other) and os.path.realpath(path) == os.path.realpath(other)
