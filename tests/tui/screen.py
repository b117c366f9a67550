"""What the tests of the terminal interface see: the screen as plain text."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot


def plain(app: App[Any]) -> list[str]:
    """The lines of the screen, as a person reads them."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()
    return [strip.text.ljust(width) for strip in lines][:height]


async def until(pilot: Pilot[Any], condition: Callable[[], bool], seconds: float = 600.0) -> None:
    """Let the application work until the condition holds. The longer that takes the more seldom it
    is looked at, which costs what whoever is waited for could use."""
    deadline, pause = time.monotonic() + seconds, 0.01
    while not condition():
        assert time.monotonic() < deadline, "\n".join(plain(pilot.app))
        await pilot.pause(pause)
        pause = min(pause * 1.5, 0.25)


async def press_until(pilot: Pilot[Any], key: str, condition: Callable[[], bool]) -> None:
    """Press a key that goes round through several views until the one that is meant is there."""
    for _ in range(20):
        if condition():
            return
        await pilot.press(key)
    assert condition(), "\n".join(plain(pilot.app))
