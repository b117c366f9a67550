"""Which process of a session folder: a dialog on the screen, and before there is one."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

from stepper.analysis.live_processes import LiveProcess, ProcessWatch
from stepper.analysis.processes import process_text
from stepper.client.session import Session
from stepper.model.printing import printable
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.session_folder import SessionFolder, is_session, read
from stepper.tui.dialogs import ChoiceScreen
from stepper.tui.turning import turn_to
from stepper.tui.workarounds import AnySize

if TYPE_CHECKING:
    from stepper.tui.app import StepperApp


_LOOKS = 1.0
"""Seconds between two looks at living processes."""


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


class ProcessChooser(AnySize[str]):
    """Nothing but the choice; returns the path that was chosen, None when it was left."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, folder: SessionFolder, theme: str = "") -> None:
        super().__init__()
        self._folder = folder
        if theme:
            self.theme = theme

    def on_mount(self) -> None:
        self.push_screen(ProcessesScreen(self._folder), self.exit)


class LiveProcessesScreen(ChoiceScreen[Session]):
    """Shows what each process does, again and again; gives the one that is to be looked at."""

    DEFAULT_CSS = "LiveProcessesScreen Vertical { width: 132; max-width: 95%; }"

    def __init__(self, watch: ProcessWatch, now: Session) -> None:
        """
        Args:
            watch: looks at the processes.
            now: the one that is looked at.
        """
        super().__init__("The processes; Enter looks at one", [])
        self._watch = watch
        self._now = now
        self._shown: list[LiveProcess] = []

    def on_mount(self) -> None:
        self._look()
        self.set_interval(_LOOKS, self._look)

    def _look(self) -> None:
        try:
            found = self._watch.look()
        except RecordingError as error:
            self.query_one(Label).update(str(error))
            return
        if found == self._shown:
            return
        options = self.query_one(OptionList)
        at = options.highlighted
        marked = self._now if at is None else self._shown[at].session
        self._shown = found
        options.clear_options()
        options.add_options(
            Option(printable(each.text), disabled=each.session is None) for each in found
        )
        options.highlighted = next(
            (place for place, each in enumerate(found) if each.session is marked), None
        )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index].session)


def choose(app: StepperApp) -> None:
    """Ask for another process of the program, or of the session folder in which the recording is,
    and go there."""
    if (processes := app.program.processes) is not None:

        async def turn(session: Session | None) -> None:
            if session is not None:
                await turn_to(app, session)

        app.push_screen(LiveProcessesScreen(ProcessWatch(processes), app.session), turn)
        return
    recording = app.session.recording
    path = "" if recording is None else recording.path
    folder = os.path.dirname(os.path.abspath(path))
    if not path or not is_session(folder):
        app.say("this recording is not in a session folder (record --children)", "warning")
        return
    if app.session.live:
        others = f"stepper open {shlex.quote(folder)}"
        app.say(f"the program is alive: open the others with {others}", "warning")
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
