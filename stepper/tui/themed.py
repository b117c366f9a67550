"""What all widgets that draw spans have in common: the styles of the theme in use."""

from __future__ import annotations

from textual.widget import Widget

from stepper.tui.palette import Palette

_made: tuple[str, Palette] | None = None
"""The palette of the theme that was drawn with last, and its name; there is one at a time."""


class Themed(Widget):
    """A widget that draws by roles."""

    @property
    def palette(self) -> Palette:
        """The styles of the theme in use; another object after another theme was chosen."""
        global _made
        theme = self.app.current_theme
        if _made is None or _made[0] != theme.name:
            _made = (theme.name, Palette(theme))
        return _made[1]
