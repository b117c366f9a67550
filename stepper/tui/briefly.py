"""Rows whose long names are short on screen, and in full where they are searched and copied."""

from __future__ import annotations

from collections.abc import Callable

from stepper.client.names import brief_node, brief_source
from stepper.tui.palette import Row, Span

_SHORTER: dict[str, Callable[[str], str]] = {"node": brief_node, "source": brief_source}
"""How a span's text is shortened, by the first of its roles."""


def brief_row(*spans: Span, role: str = "") -> Row:
    """A line of spans given in full; those that are nodes or sources are drawn short."""
    shown = tuple((_shorter(text, roles), roles) for text, roles in spans)
    full = "" if shown == spans else "".join(text for text, _ in spans)
    return Row(shown, role, full)


def _shorter(text: str, roles: str) -> str:
    shorten = _SHORTER.get(roles.partition(" ")[0])
    return shorten(text) if shorten is not None else text
