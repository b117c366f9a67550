"""From one process of a living program to another.

Each process that has been looked at has a cursor and a desk of its own, which stay as they were
left: panes keep what is open in them, and going back and forth between two ranks costs no more than
showing the other desk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stepper.analysis.live_processes import process_title, standing_text
from stepper.client.cursor import Cursor
from stepper.client.events import Ended, SessionEvent
from stepper.client.session import Session
from stepper.model.control import BreakpointChanged, Notice, Stopped
from stepper.tui.desk import Desk
from stepper.tui.headline import OTHERS
from stepper.tui.panes.output import OutputPane
from stepper.tui.registry import all_panes

if TYPE_CHECKING:
    from stepper.tui.app import StepperApp


class Left(NamedTuple):
    """A process that is not looked at now."""

    cursor: Cursor
    desk: Desk


async def turn_to(app: StepperApp, session: Session) -> None:
    """Look at another process."""
    if session is app.session:
        return
    before = app.desk
    app.left[app.session] = Left(app.cursor, before)
    left = app.left.pop(session, None)
    if left is None:
        left = Left(Cursor(session), Desk(all_panes()))
        left.cursor.begin()
        mine, output = left.desk.panes["output"], before.panes["output"]
        assert isinstance(mine, OutputPane)
        assert isinstance(output, OutputPane)
        mine.share(output)
        left.desk.preset, left.desk.shares = before.preset, before.shares
        await app.mount(left.desk, after=before)
    elif session.stopped is not None:
        left.cursor.arrived()
    before.display, left.desk.display = False, True
    app.turned(session, left.cursor, left.desk)
    left.desk.reveal("source")


async def happened_elsewhere(app: StepperApp, session: Session, event: SessionEvent) -> None:
    """Something has happened in a process that is not looked at: where it stops it is gone to, when
    the one that is looked at does not stand still."""
    title = process_title(session)
    match event:
        case Stopped() as stopped:
            text = f"{title}: {standing_text(session, stopped)}"
            if app.session.stopped is None and len(app.screen_stack) == 1:
                await turn_to(app, session)
                app.say(f"{text}{OTHERS}")
            else:
                app.say(f"{text}; Ctrl-O goes there", "warning")
        case Notice(text=text) | BreakpointChanged(text=text) if text:
            app.say(f"{title}: {text}", "warning")
        case Ended() as ended if session is app.program:
            app.say(f"the program {ended.status.sentence}")
            app.renew()
        case _:
            pass
