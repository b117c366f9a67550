"""The roles that text plays on screen, and the style of each role under the theme in use.

Panes name roles and never colours, so one table decides the look of everything. A role's meaning is
always also a word, a sign or an attribute: a terminal without colours loses nothing."""

from __future__ import annotations

from typing import NamedTuple

from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme

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
    """Name of a theme variable; `muted` is the foreground faded into the background."""
    attributes: str = ""
    background: str = ""


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
    "line": _Look("band-2"),
    "bar": _Look("muted"),
    "name": _Look(),
    "type": _Look("primary"),
    "constant": _Look("accent"),
    "tensor": _Look("success"),
    "node": _Look("accent", "italic"),
    "source": _Look("warning"),
    "keyword": _Look("primary", "bold"),
    "string": _Look("success"),
    "comment": _Look("muted", "italic"),
    "function": _Look("primary"),
    "operator": _Look(),
    "error": _Look("error", "bold"),
    "warning": _Look("warning"),
    "key": _Look("accent", "bold"),
    "lane-0": _Look("primary"),
    "lane-1": _Look("success"),
    "lane-2": _Look("warning"),
    "lane-3": _Look("accent"),
    "lane-4": _Look("secondary"),
    "lane-5": _Look("error"),
    "span-0": _Look(background="band"),
    "span-1": _Look(background="band-2"),
    "new-line": _Look(attributes="bold"),
}
"""Every role, by name."""


LANES = 6
"""How many roles `lane-0`, `lane-1`, … there are."""


class Palette:
    """The styles of all roles under one theme."""

    def __init__(self, theme: Theme) -> None:
        self.ansi = theme.ansi
        """Whether only the terminal's own colours are used."""
        variables = theme.to_color_system().generate()
        self._styles = {name: _style(look, variables, theme.ansi) for name, look in ROLES.items()}
        self._combined: dict[str, Style] = {"": Style.null(), **self._styles}

    def __getitem__(self, roles: str) -> Style:
        """The style of one role or of several, separated by blanks; later ones win."""
        style = self._combined.get(roles)
        if style is None:
            style = Style.combine([self._styles[role] for role in roles.split()])
            self._combined[roles] = style
        return style


def _style(look: _Look, variables: dict[str, str], ansi: bool) -> Style:
    style = Style.parse(look.attributes)
    if look.color == "muted" and ansi:
        style += Style(dim=True)
    elif look.color:
        color = _color(look.color, variables)
        if not ansi:
            color = _readable(color, variables)
        style += Style(color=color.rich_color)
    if look.background.startswith("band") and ansi:
        # A terminal's own sixteen colours hold none that is safe under every foreground.
        style += Style(underline=True)
    elif look.background and ansi:
        style += Style(reverse=True)
    elif look.background:
        style += Style(bgcolor=_color(look.background, variables).rich_color)
    return style


_BLENDS = {
    "muted": ("foreground", 5.0),
    "band": ("primary", 1.25),
    "band-2": ("foreground", 1.2),
    "block": ("primary", 1.6),
}
"""Colours between the background and another, as near to the background as this contrast allows.
The contrasts are chosen so that what is muted can still be read where a row is marked."""


_READABLE = 4.5
"""The contrast from which text counts as readable."""


def _blended(background: Color, towards: Color, contrast: float) -> Color:
    """The first colour on the way that stands out so much; the end of the way if none does."""
    steps = (background.blend(towards, percent / 100) for percent in range(5, 100, 5))
    return next((step for step in steps if contrast_of(step, background) >= contrast), towards)


def _readable(color: Color, variables: dict[str, str]) -> Color:
    """A colour for text, nearer to the foreground's where it would hardly be seen."""
    background, foreground = (_color(name, variables) for name in ("background", "foreground"))
    steps = (color.blend(foreground, percent / 100) for percent in range(0, 100, 10))
    return next((step for step in steps if contrast_of(step, background) >= _READABLE), foreground)


def contrast_of(one: Color, other: Color) -> float:
    """The contrast of two colours as WCAG defines it: 1 (alike) to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in color.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _color(name: str, variables: dict[str, str]) -> Color:
    if name == "heat":
        # Of its own: what is hot is neither a constant nor something to be warned of.
        if variables["background"].startswith("ansi"):
            return Color.parse("ansi_magenta")
        return _color("error", variables).blend(_color("primary", variables), 0.5)
    if name in _BLENDS:
        towards, contrast = _BLENDS[name]
        return _blended(_color("background", variables), _color(towards, variables), contrast)
    # `text-…` are the variables that are made to be read on the background.
    for variable in (f"text-{name}", name):
        try:
            return Color.parse(variables[variable])
        except (KeyError, ColorParseError):
            continue
    return Color.parse("ansi_default")
