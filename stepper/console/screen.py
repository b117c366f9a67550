"""Where the console prints: whole lines of its own, and the program's output between them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

from stepper.model.printing import pass_on, say

_STYLES = {"+": "32", "-": "31", "~": "33", "bold": "1", "dim": "2", "error": "31"}

STYLES = {"title": "bold", "dim": "dim"}
"""How the lines of an answer are printed, by their roles."""

PROMPT = "(stepper) "


class Screen:
    """Text for a person or a pipe. Colour only on a terminal, and not with NO_COLOR; meaning never
    hangs on it. In a pipe the program's lines begin with `| `, to be told from the debugger's."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.terminal = out.isatty()
        self.colour = (
            self.terminal
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM", "dumb") != "dumb"
        )
        self._column_zero = True

    def say(self, text: str = "", style: str = "") -> None:
        """Print lines of the debugger's own."""
        self.fresh_line()
        say(text, self._out, style=_STYLES[style] if style and self.colour else "")
        self._out.flush()

    def lines(self, lines: Iterable[str]) -> None:
        """Print many lines; a leading sign `+`, `-` or `~` gives a line its colour."""
        for line in lines:
            self.say(line, line[:1] if line[:2] in ("+ ", "- ", "~ ") else "")

    def error(self, text: str) -> None:
        """Print why something could not be done."""
        self.say(f"*** {text}", "error")

    def program(self, text: str) -> None:
        """Print a piece of the program's output."""
        if self.terminal:
            self._pass_on(text)
            return
        for piece in text.replace("\r\n", "\n").splitlines(keepends=True):
            self._pass_on(f"| {piece}" if self._column_zero else piece)

    def fresh_line(self) -> None:
        """Begin a new line, unless one has just begun."""
        if not self._column_zero:
            say("", self._out)
            self._column_zero = True

    def prompt(self, command: str, prompt: str = PROMPT) -> None:
        """Show the prompt with the command behind it that nobody typed."""
        self.say(f"{prompt}{command}")

    def answered(self) -> None:
        """The user has ended a line on the terminal."""
        self._column_zero = True

    def _pass_on(self, text: str) -> None:
        if text:
            pass_on(text, self._out)
            self._column_zero = text.endswith("\n")
