"""What a translation that goes on is to do otherwise: back to an earlier moment of it, and what is
other from there; and which line is next where it stands.

It is asked of the program, which goes there at once, in another attempt; what becomes of that is
said on the status line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepper.client.forks import NOT_LIVE, fork_request
from stepper.model.control import Jump
from stepper.tui.cache_dialogs import ActionsScreen
from stepper.tui.deciding import ask
from stepper.tui.prompt import Prompt

if TYPE_CHECKING:
    from stepper.tui.app import StepperApp

_CHOICES = (
    ("g", "", "go back: stand there again, with nothing changed"),
    ("b", "break-graph", "break the graph before this instruction; its entry is kept"),
    ("v", "set", "give a variable or stack slot another value, and see what comes of it"),
    ("d", "drop-guard", "leave a guard out, and see what comes of it"),
)
_QUESTIONS = {"set": "what gets which value, e.g. x = 3:", "drop-guard": "the guard's number:"}


def fork(app: StepperApp) -> None:
    """Ask what is to be other from the moment on at which the cursor stands."""
    moment = app.cursor.position
    if app.session.stopped is None:
        app.say("the program does not stand still: fork at a stop in a translation", "warning")
        return

    def send(text: str) -> None:
        try:
            ask(app, fork_request(moment, text))
        except ValueError as error:
            app.say(str(error), "warning")

    def chosen(name: str | None) -> None:
        if name in _QUESTIONS:
            question = _QUESTIONS[name]
            app.query_one(Prompt).ask(question, lambda text: send(f"{name} {text}"))
        elif name is not None:
            send(name)

    app.push_screen(
        ActionsScreen(f"Fork at moment {moment}, beside this attempt", _CHOICES), chosen
    )


def jump(app: StepperApp) -> None:
    """Ask at which line the newest frame is to go on."""
    if not app.cursor.at_stop:
        app.say(NOT_LIVE, "warning")
        return

    def send(text: str) -> None:
        if text.strip().isdecimal():
            ask(app, lambda seq: Jump(seq, int(text)))
        else:
            app.say(f"{text!r} is not a line: give its number", "warning")

    app.query_one(Prompt).ask("go on at line:", send)
