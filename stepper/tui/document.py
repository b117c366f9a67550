"""Writes the page docs/keys.md from the tables that the bindings are made of.

python -m stepper.tui.document > docs/keys.md
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding, BindingType

from stepper.model.printing import give
from stepper.tui.breakpoints_dialog import BreakpointsScreen
from stepper.tui.desk import PANE_KEYS
from stepper.tui.keys import help_entries
from stepper.tui.registry import all_panes
from stepper.tui.why_screen import WhyScreen

_HEAD = """\
# Keys

<!-- Written by `python -m stepper.tui.document` from the bindings. Do not edit. -->

`stepper run` and `stepper open` understand these. `?` shows the same list on screen, and Ctrl-P
finds each command by its name. Keys of movement work in every pane; in an input line they are text.
"""


def page() -> str:
    """The whole page."""
    lines = [_HEAD.rstrip()]
    section = ""
    panes = {pane.NAME: (PANE_KEYS[pane.NAME], pane.HELP) for pane in all_panes()}
    for name, key, meaning in help_entries(panes):
        if name != section:
            section = name
            lines += _heading(name)
        lines.append(_row(key, meaning))
    lines += _heading("In the list of breakpoints")
    lines += _bindings(BreakpointsScreen.BINDINGS)
    lines += _heading("In the answers of `W`")
    lines += _bindings(WhyScreen.BINDINGS)
    return "\n".join(lines) + "\n"


def _heading(text: str) -> list[str]:
    return ["", f"## {text}", "", "| key | what it does |", "| --- | --- |"]


def _row(key: str, meaning: str) -> str:
    return f"| `{key}` | {meaning} |"


def _bindings(bindings: Sequence[BindingType]) -> list[str]:
    rows = []
    for binding in bindings:
        assert isinstance(binding, Binding)
        names = " ".join(name.capitalize() if len(name) > 1 else name for name in _split(binding))
        rows.append(_row(names, f"{binding.description}."))
    return rows


def _split(binding: Binding) -> list[str]:
    return ["+" if name == "plus" else name for name in binding.key.split(",")]


if __name__ == "__main__":
    give(page())
