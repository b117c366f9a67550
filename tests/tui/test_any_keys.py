"""Keys in any order, in a terminal of any size: whatever comes, the screen stands.

Nobody thinks of each dialog in each state of each pane at each size; these come upon many of them.
What they press is drawn by chance from a seed that is the test's name, so that what one has found
comes again.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from stepper.tui.workarounds import LEAST
from tests.tui.screen import plain
from tests.tui.test_app import WIDE, header, opened

_KEYS = (
    *"sSnNlLrRcC><g.,;bBDFzeW~?!1234567Y890OtkTvVm&/oiud|+-][fGxpEhHaA*%(",
    "enter", "tab", "shift+tab", "escape", "backspace", "space", "ctrl+f", "ctrl+o", "ctrl+p",
    "ctrl+c", "up", "down", "left", "right", "pageup", "pagedown", "home", "end", "shift+up",
    "shift+down", "shift+left", "shift+right",
)  # fmt: skip
"""All but those that leave."""
_SIZES = (
    (80, 24), (120, 40), (200, 60), (40, 12), (24, 8), (160, 1), (1, 60), (7, 3), (1, 1),
)  # fmt: skip
_PRESSED = 60
_OFTEN = 0.15
"""How often the size is another one."""


@pytest.mark.parametrize("seed", range(5))
async def test_no_keys_at_no_size_end_the_screen(sample_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with opened(sample_path) as (app, pilot):
        for _ in range(_PRESSED):
            if chance.random() < _OFTEN:
                await pilot.resize_terminal(*chance.choice(_SIZES))
            await pilot.press(chance.choice(_KEYS))
        await pilot.resize_terminal(*WIDE)
        await pilot.press(*["escape"] * 6)
        assert app.is_running
        assert "sample.stepper" in "\n".join(plain(app)) or "moment " in header(app)


async def test_a_terminal_with_less_room_shows_a_part_and_then_all_again(sample_path: Path) -> None:
    async with opened(sample_path) as (app, pilot):
        before = plain(app)
        await pilot.resize_terminal(3, 2)
        assert app.size == LEAST
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert plain(app) == before
