"""A line of an answer, the same for every front end."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """A line of an answer."""

    text: str
    moment: int | None = None
    """Where it leads; None: nowhere."""
    role: str = ""
    """`title`, `dim`, or nothing."""
