"""The choice before a call is compiled again: go on, mark a size dynamic, relax the guard, skip.

It is asked of the program; what it answers, what was done or why not, is said on the status line.
The program stands where it stood; `c` goes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from stepper.client.text import one_line
from stepper.model.control import MarkDynamic, RelaxGuard, Request, SkipCall
from stepper.model.stepping import Motion
from stepper.tui.cache_dialogs import ActionsScreen
from stepper.tui.lines import Lines
from stepper.tui.prompt import Prompt

if TYPE_CHECKING:
    from stepper.tui.app import StepperApp

_CHOICES = (
    ("g", "go", "go on: compile it"),
    ("d", "mark", "mark the size that differs dynamic, then compile it"),
    ("n", "name", "mark another size dynamic, by name"),
    ("r", "relax", "relax the guard: the entry serves this call without it"),
    ("s", "skip", "skip: run this call uncompiled, compile nothing"),
)
_NAMED = re.compile(r"\s*(?P<source>\S.*?)\s+(?P<dim>-?\d+)\s*")


def decide(app: StepperApp) -> None:
    """Ask what becomes of the call at which the program stands."""
    stopped = app.session.stopped
    if stopped is None:
        app.say(
            "the program does not stand still; a breakpoint on miss stops where there is a choice",
            "warning",
        )
        return

    def chosen(name: str | None) -> None:
        if name == "go":
            app.action_move(Motion.CONTINUE.value, 1)
        elif name == "mark":
            ask(app, MarkDynamic)
        elif name == "name":
            app.query_one(Prompt).ask("tensor and size, e.g. x 0:", lambda text: _mark(app, text))
        elif name == "relax":
            ask(app, RelaxGuard)
        elif name == "skip":
            ask(app, SkipCall)

    about = one_line(stopped.text or stopped.reason)
    app.push_screen(ActionsScreen(f"What becomes of this call?\n{about}", _CHOICES), chosen)


def _mark(app: StepperApp, text: str) -> None:
    match = _NAMED.fullmatch(text)
    if match is None:
        app.say(f"{text!r} is no tensor and size, such as: x 0", "warning")
        return
    source, dim = match["source"], int(match["dim"])
    ask(app, lambda seq: MarkDynamic(seq, source, dim))


def ask(app: StepperApp, make: Callable[[int], Request]) -> None:
    """Ask something of the program, and say what it answers."""
    # The answer comes on the thread that reads the channel: only a message may cross over.
    app.session.request(make).add_done_callback(
        lambda future: app.post_message(Lines.Say(one_line(_told(future.result().text))))
    )


def _told(text: str) -> str:
    return text or "the program did not say what it has done"
