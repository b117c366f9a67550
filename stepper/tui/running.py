"""The application on this terminal, and what becomes of the program when it has been left."""

from __future__ import annotations

import contextlib
import sys

from stepper.client.events import OutputArrived, SessionEvent
from stepper.client.paths import state_directory
from stepper.client.session import Session, open_recording
from stepper.model.printing import pass_on
from stepper.tui.app import StepperApp
from stepper.tui.workarounds import draw_on_stdout

_KILLED = 5.0
"""Seconds to wait for a killed program to be gone."""


def run(session: Session, *, theme: str = "", at: int | None = None, why: str = "") -> int:
    """Show a session on the terminal until the user leaves.

    Args:
        session: what to look at; closing it is the caller's.
        theme: name of a Textual theme; empty: the default.
        at: moment of a recording to begin at.
        why: the reason for looking, said at first; empty: none.

    Returns:
        The exit code for the shell: the program's when it ended by itself, else 0.
    """
    draw_on_stdout()
    kept = state_directory() / "screen.json"
    home = at is None and not why
    app = StepperApp(session, theme=theme, at=at, why=why, home=home, kept=kept)
    app.run()
    while app.other:
        with contextlib.closing(open_recording(app.other)) as other:
            app = StepperApp(other, theme=theme, kept=kept)
            app.run()
    if app.leaving == "kill":
        session.kill()
        session.wait(_KILLED)
        return 0
    if app.leaving == "detach":
        _run_on(session)
    return session.exit_status.shell_code if session.exit_status else 0


def _run_on(session: Session) -> None:
    """Let a detached program end, with its output on this terminal."""

    def heard(event: SessionEvent) -> None:
        if isinstance(event, OutputArrived):
            pass_on(event.text, sys.stdout)

    session.subscribe(heard)
    if session.processes is not None:
        session.processes.detach()
    else:
        session.detach()
    while not session.wait(0.5):
        pass
