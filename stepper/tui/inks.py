"""The colours that text is written in, each for one meaning, under any theme.

A theme names colours, but may name one twice, or two that can hardly be told apart once they are
made readable: its accent can be its warning. So each ink begins with the theme's own colour for it;
where that is not distinct, one is looked for around the hue that such things usually have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from textual.color import Color, ColorParseError
from textual.theme import Theme

INKS = ("error", "warning", "success", "primary", "accent", "data", "heat", "muted")
"""What goes wrong or is gone; what has changed or is found; what is new or done; titles and kinds
of things; what is written as it is; data and where it comes from; what costs; what is beside the
point."""

_TERMINALS = {
    "error": "ansi_red", "warning": "ansi_yellow", "success": "ansi_green", "primary": "ansi_blue",
    "accent": "ansi_magenta", "data": "ansi_cyan", "heat": "ansi_bright_magenta",
}  # fmt: skip
"""Which of a terminal's own sixteen; what is muted it draws as dim."""

_HUES = {
    "error": 0, "warning": 38, "success": 130, "primary": 212, "accent": 290, "data": 180,
    "heat": 330,
}  # fmt: skip
"""Where on the colour wheel an ink is looked for that the theme does not tell apart."""
_BEGINS_AS = {"data": "secondary", "heat": "error"}
_READABLE = 4.6
"""The contrast from which text counts as readable."""
DISTINCT = 0.06
"""How far apart two inks are, at least, by `distance`; 0.02 can just be seen."""
_CLEARLY = 0.1
_TURNS = (0, 15, -15, 30, -30, 45, -45, 60, -60, 90, -90, 120, -120, 150, -150, 180)
_MUTED = 5.0
"""The contrast of what is muted: it can still be read where a row is marked."""


def inks(theme: Theme) -> dict[str, Color]:
    """The colour of each ink; what is muted is left out where the terminal draws that."""
    if theme.ansi:
        return {name: Color.parse(color) for name, color in _TERMINALS.items()}
    variables = theme.to_color_system().generate()
    background, foreground = (theme_color(name, variables) for name in ("background", "foreground"))
    found = {"muted": blended(background, foreground, _MUTED)}
    for name in INKS:
        if name not in found:
            begin = theme_color(_BEGINS_AS.get(name, name), variables)
            taken = [foreground, *found.values()]
            found[name] = _first_distinct(_for_ink(name, begin, background), taken)
    return found


def _for_ink(name: str, color: Color, background: Color) -> Iterator[Color]:
    """The theme's colour for an ink, then others for its place, by its usual hue; all can be read
    on the background."""
    hue, saturation, lightness = color.hsl
    yield _readable(hue, saturation, lightness, background)
    for strength in (0.6, saturation):
        for turn in _TURNS:
            yield _readable((_HUES[name] + turn) % 360 / 360, strength, lightness, background)


def _first_distinct(candidates: Iterator[Color], taken: list[Color]) -> Color:
    """The first one, if it can be told apart; else the first that is clearly another one, or the
    one that differs most."""
    best, farthest = None, -1.0
    for each in candidates:
        nearest = min(distance(each, other) for other in taken)
        if nearest >= (DISTINCT if best is None else _CLEARLY):
            return each
        if nearest > farthest:
            best, farthest = each, nearest
    assert best is not None
    return best


def _readable(hue: float, saturation: float, lightness: float, background: Color) -> Color:
    """A colour for text: lighter, or on a light background darker, where it would hardly be seen,
    also as the grey that stands for it where NO_COLOR is set."""
    end = 1.0 if _luminance(background) < 0.18 else 0.0
    steps = (
        Color.from_hsl(hue, saturation, lightness + (end - lightness) * percent / 100)
        for percent in range(0, 105, 5)
    )
    grey = background.monochrome
    return next(
        step
        for step in steps
        if contrast_of(step, background) >= _READABLE
        and contrast_of(step.monochrome, grey) >= _READABLE
    )


def blended(background: Color, towards: Color, contrast: float) -> Color:
    """The first colour on the way that stands out so much; the end of the way if none does."""
    steps = (background.blend(towards, percent / 100) for percent in range(5, 100, 5))
    return next((step for step in steps if contrast_of(step, background) >= contrast), towards)


def theme_color(name: str, variables: dict[str, str]) -> Color:
    """A colour that a theme names; the terminal's own where it does not."""
    try:
        return Color.parse(variables[name])
    except (KeyError, ColorParseError):
        return Color.parse("ansi_default")


def contrast_of(one: Color, other: Color) -> float:
    """The contrast of two colours as WCAG defines it: 1 (alike) to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = _linear(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def distance(one: Color, other: Color) -> float:
    """How different two colours look: their distance in Oklab, 0 to 1 from black to white."""
    return math.dist(_oklab(one), _oklab(other))


def _oklab(color: Color) -> tuple[float, float, float]:
    red, green, blue = _linear(color)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def _linear(color: Color) -> tuple[float, float, float]:
    """Red, green and blue as amounts of light."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in color.normalized
    )
    return red, green, blue
