"""Everything that goes around Textual instead of through it; written for textual 8.2.8.

Each entry says what Textual does, what is done instead, and when it can go.
"""

from __future__ import annotations

from textual.layout import Layout
from textual.widget import Widget


class OwnLayout(Widget):
    """A widget that arranges its children by a layout object of its own.

    Setting `styles.layout` to a layout object looks it up by its name among Textual's built-in
    ones and refuses others. The property that the arranging code reads is overridden instead. Can
    go when `styles.layout` accepts an object.
    """

    own_layout: Layout | None = None

    @property
    def layout(self) -> Layout:
        return self.own_layout or super().layout

    def rearrange(self) -> None:
        """Ask the layout object again.

        Textual keeps what a layout answered until the children or their styles change; it cannot
        know that the layout's own mind has.
        """
        self._clear_arrangement_cache()
        self.refresh(layout=True)
