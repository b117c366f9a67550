"""The commands of the palette: every key of the application, every pane, and what the pane that has
the keyboard can do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from textual.app import App, SystemCommand
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input

from stepper.tui.desk import PANE_KEYS, Desk
from stepper.tui.keys import KEYS

_CURSOR_KEYS = frozenset(
    {"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "shift+up", "shift+down"}
)
"""Keys that only mean something under the fingers."""


def commands(app: App[Any], screen: Screen[Any]) -> Iterator[SystemCommand]:
    """All commands, for the screen that the palette is opened on."""
    for key in KEYS:
        if key.action != "command_palette":
            text = f"{key.help} Key: {key.shown}"
            yield SystemCommand(key.title, text, _runner(app, key.action))
    for desk in (desk for desk in screen.query(Desk) if desk.display):
        for name, pane in desk.panes.items():
            text = f"{pane.HELP} Key: {PANE_KEYS[name]}"
            yield SystemCommand(f"Pane: {name}", text, _runner(app, f"reveal('{name}')"))
    yield from _in_this_pane(app, screen)
    yield SystemCommand(
        "Jump to a line",
        "Have the newest frame go on at another line: what is compiled leaves out what is between.",
        _runner(app, "jump"),
    )
    yield SystemCommand("Theme", "Choose the colours.", _runner(app, "change_theme"))
    yield SystemCommand(
        "Terminate the program", "Raise KeyboardInterrupt in it.", _runner(app, "terminate")
    )


def _in_this_pane(app: App[Any], screen: Screen[Any]) -> Iterator[SystemCommand]:
    """What the widgets around the keyboard can do: search, copy, filter, another view …"""
    for key, active in screen.active_bindings.items():
        node, binding = active.node, active.binding
        if key in _CURSOR_KEYS or isinstance(node, (App, Screen, Input)) or not binding.description:
            continue
        text = f"In the pane that has the keyboard. Key: {app.get_key_display(binding)}"
        title = binding.tooltip or binding.description
        yield SystemCommand(title, text, _runner(app, binding.action, node))


def _runner(app: App[Any], action: str, node: DOMNode | None = None) -> Callable[[], None]:
    def run_it() -> None:
        app.call_later(app.run_action, action, node)

    return run_it
