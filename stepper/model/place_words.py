"""Where in the program something happened to a cache entry: its event's text ends with it."""

from __future__ import annotations

import re

from stepper.model.program import PythonFrame

_PLACE = re.compile(r".*[;,] at (?P<file>.+):(?P<line>\d+) in (?P<function>\S+)", re.DOTALL)


def place_words(frame: PythonFrame) -> str:
    """What its text ends with."""
    return f"at {frame}"


def place_told(text: str) -> PythonFrame | None:
    """The place with which an event's text ends; None: it tells none, as where it happened in a
    thread without the program, or by a command at a stop."""
    match = _PLACE.fullmatch(text)
    if match is None:
        return None
    return PythonFrame(match["file"], int(match["line"]), match["function"])
