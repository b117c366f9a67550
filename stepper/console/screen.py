"""Where the console prints: whole lines of its own, and the program's output between them."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import TextIO

from stepper.client.text import printable

_STYLES = {"+": "32", "-": "31", "~": "33", "bold": "1", "dim": "2", "error": "31"}

STYLES = {"title": "bold", "dim": "dim"}
"""How the lines of an answer are printed, by their roles."""

PROMPT = "(stepper) "


class Screen:
    """Text for a person or a pipe. Colour only on a terminal, and not with NO_COLOR; meaning never
    hangs on it. In a pipe the program's lines begin with `| `, to be told from the debugger's."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        if isinstance(out, io.TextIOWrapper):
            # Names and values can be in any script, whatever the locale is.
            out.reconfigure(errors="backslashreplace")
        self.terminal = out.isatty()
        self.colour = (
            self.terminal
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM", "dumb") != "dumb"
        )
        self._column_zero = True

    def style(self, text: str, name: str) -> str:
        """The text in a style, where there is colour."""
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if self.colour and text else text

    def say(self, text: str = "", style: str = "") -> None:
        """Print lines of the debugger's own."""
        self.fresh_line()
        # Names and texts come from the program: they must not act on the terminal.
        text = "\n".join(map(printable, text.split("\n")))
        self._put(f"{self.style(text, style) if style else text}\n")

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
            self._put(text)
            return
        for piece in text.replace("\r\n", "\n").splitlines(keepends=True):
            self._put(f"| {piece}" if self._column_zero else piece)

    def fresh_line(self) -> None:
        """Begin a new line, unless one has just begun."""
        if not self._column_zero:
            self._put("\n")

    def prompt(self, command: str | None = None) -> None:
        """Show the prompt; with the command behind it where nobody typed one."""
        self.fresh_line()
        self._put(f"{PROMPT}{command}\n" if command is not None else PROMPT)

    def answered(self) -> None:
        """The user has ended a line on the terminal."""
        self._column_zero = True

    def _put(self, text: str) -> None:
        if not text:
            return
        self._out.write(text)
        self._out.flush()
        self._column_zero = text.endswith("\n")
