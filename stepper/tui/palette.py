"""The roles that text plays on screen, and the style of each role under the theme in use.

Panes name roles and never colours, so one table decides the look of everything. A role's meaning is
always also a word, a sign or an attribute: a terminal without colours loses nothing."""

from __future__ import annotations

from typing import NamedTuple

from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from stepper.tui.inks import blended, inks, theme_color

Span = tuple[str, str]
"""Text, and the roles it plays: names from `ROLES`, separated by blanks; empty: plain text."""


class Row(NamedTuple):
    """One line of a list, ready to be drawn."""

    spans: tuple[Span, ...]
    role: str = ""
    """Role of the line as a whole, laid under its spans, e.g. `current`."""
    full: str = ""
    """The line's text where names were shortened to be drawn; empty: the spans say all."""

    @property
    def text(self) -> str:
        """The line as plain text, in full: what is searched and copied."""
        return self.full or "".join(text for text, _ in self.spans)


def row(*spans: Span | str, role: str = "") -> Row:
    """Put a line together; a bare string is plain text."""
    return Row(tuple((span, "") if isinstance(span, str) else span for span in spans), role)


class _Look(NamedTuple):
    color: str = ""
    """The ink that it is written in (`stepper.tui.inks`), which says what its roles have in common;
    empty: the theme's foreground."""
    attributes: str = ""
    background: str = ""
    """Name of a ground that rows are marked by."""


ROLES: dict[str, _Look] = {
    "dim": _Look("muted"),
    "bold": _Look(attributes="bold"),
    "title": _Look("primary", "bold"),
    "current": _Look(attributes="bold", background="band"),
    "column": _Look(attributes="underline"),
    "selected": _Look(background="block"),
    "cursor": _Look(background="block"),
    "reverse": _Look(attributes="reverse"),
    "match": _Look("warning", "reverse"),
    "new": _Look("success", "bold"),
    "changed": _Look("warning", "bold"),
    "gone": _Look("error", "strike"),
    "breakpoint": _Look("error", "bold"),
    "executed": _Look("success"),
    "number": _Look("muted"),
    "heat": _Look("heat"),
    "line": _Look("muted"),
    "bar": _Look("muted"),
    "name": _Look(),
    "type": _Look("primary"),
    "constant": _Look("accent"),
    "tensor": _Look("data"),
    "node": _Look("data", "italic"),
    "source": _Look("data"),
    "keyword": _Look("primary", "bold"),
    "string": _Look("accent"),
    "comment": _Look("muted", "italic"),
    "function": _Look("primary"),
    "operator": _Look(),
    "error": _Look("error", "bold"),
    "warning": _Look("warning"),
    "key": _Look("accent", "bold"),
    "here": _Look("primary", "bold"),
    "lookup": _Look("primary"),
    "execute": _Look("data"),
    "lane-0": _Look("primary"),
    "lane-1": _Look("data"),
    "lane-2": _Look("accent"),
    "lane-3": _Look("heat"),
    "lane-4": _Look("muted"),
    "span-0": _Look(background="band"),
    "span-1": _Look(background="band-2"),
    "new-line": _Look(attributes="bold"),
}
"""Every role, by name."""


LANES = 5
"""How many roles `lane-0`, `lane-1`, … there are."""


class Palette:
    """The styles of all roles under one theme."""

    def __init__(self, theme: Theme) -> None:
        self.ansi = theme.ansi
        """Whether only the terminal's own colours are used."""
        colors = {**inks(theme), **_grounds(theme)}
        self._styles = {name: _style(look, colors, theme.ansi) for name, look in ROLES.items()}
        self._combined: dict[str, Style] = {"": Style.null(), **self._styles}

    def __getitem__(self, roles: str) -> Style:
        """The style of one role or of several, separated by blanks; later ones win."""
        style = self._combined.get(roles)
        if style is None:
            style = Style.combine([self._styles[role] for role in roles.split()])
            self._combined[roles] = style
        return style


def _style(look: _Look, colors: dict[str, Color], ansi: bool) -> Style:
    style = Style.parse(look.attributes)
    if look.color == "muted" and ansi:
        style += Style(dim=True)
    elif look.color:
        style += Style(color=colors[look.color].rich_color)
    if look.background.startswith("band") and ansi:
        # A terminal's own sixteen colours hold none that is safe under every foreground.
        style += Style(underline=True)
    elif look.background and ansi:
        style += Style(reverse=True)
    elif look.background:
        style += Style(bgcolor=colors[look.background].rich_color)
    return style


_GROUNDS = {"band": ("primary", 1.25), "band-2": ("foreground", 1.2), "block": ("primary", 1.4)}
"""Colours between the background and another, as near to the background as this contrast allows."""


def _grounds(theme: Theme) -> dict[str, Color]:
    if theme.ansi:
        return {}
    variables = theme.to_color_system().generate()
    background = theme_color("background", variables)
    return {
        name: blended(background, theme_color(towards, variables), contrast)
        for name, (towards, contrast) in _GROUNDS.items()
    }
