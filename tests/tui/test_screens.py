"""How the screen looks, character by character and colour by colour.

Each screen is kept in `screens/NAME.txt`: its text, under it a map with a letter for the style of
each character, under that what the letters stand for. A change of looks is meant or it is a
mistake; when it is meant, `STEPPER_UPDATE_SCREENS=1 pytest tests/tui/test_screens.py` writes the
files anew, and the change is read in the diff.
"""

from __future__ import annotations

import os
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.style import Style
from textual.app import App

from stepper.client.session import open_recording
from stepper.tui.app import StepperApp
from stepper.tui.kept_screen import KeptScreen
from stepper.tui.panes.answer import AnswerPane
from stepper.tui.presets import PRESETS, Preset
from tests.tui.cache_session import CacheSession
from tests.tui.screen import plain, until
from tests.tui.story import write_story, write_timed_story

KEPT = Path(__file__).parent / "screens"
UPDATE = bool(os.environ.get("STEPPER_UPDATE_SCREENS"))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording that all screens are of."""
    path = tmp_path_factory.mktemp("story") / "story.stepper"
    write_story(str(path))
    return path


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One in which each step has its time."""
    path = tmp_path_factory.mktemp("timed") / "timed.stepper"
    write_timed_story(str(path))
    return path


def picture(app: App[Any]) -> str:
    """The screen as text, as a map of styles, and what the letters of the map mean."""
    texts: list[str] = []
    maps: list[str] = []
    letters: dict[str, str] = {}
    for strip in app.screen._compositor.render_strips():
        texts.append(strip.text.rstrip())
        line = ""
        for segment in strip:
            look = _look(segment.style)
            letter = letters.setdefault(look, string.ascii_letters[len(letters)]) if look else "."
            line += letter * segment.cell_length
        maps.append(line)
    legend = [f"{letter}  {look}" for look, letter in letters.items()]
    return "\n".join([*texts, "", *maps, "", *legend, ""])


def settled(app: StepperApp) -> bool:
    """Whether all is there that is found out beside the screen, as far as it is seen."""
    pane = app.desk.panes["answer"]
    assert isinstance(pane, AnswerPane)
    return pane.settled or not pane.visible_on_desk


def _look(style: Style | None) -> str:
    return str(style.without_color + Style.from_color(style.color, style.bgcolor)) if style else ""


@pytest.mark.parametrize(
    ("name", "size", "theme", "moment", "keys"),
    [
        ("narrow-change", (80, 24), "", 6, ()),
        ("narrow-break", (80, 24), "", 10, ("8",)),
        ("narrow-guards", (80, 24), "", 5, ("7",)),
        ("narrow-ansi", (80, 24), "ansi-dark", 7, ("4",)),
        ("narrow-light", (80, 24), "textual-light", 6, ("2", "b")),
        ("wide-change", (120, 40), "", 6, ()),
        ("wide-locals", (120, 40), "", 7, ("4", "down", "right")),
    ],
)
async def test_the_screen_looks_as_it_did(
    story: Path, name: str, size: tuple[int, int], theme: str, moment: int, keys: Sequence[str]
) -> None:
    session = open_recording(str(story))
    try:
        app = StepperApp(session, theme=theme, at=moment)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await pilot.press(*keys)
            await until(pilot, lambda: settled(app))
            await pilot.pause()
            seen = picture(app)
    finally:
        session.close()
    compare(name, seen)


@pytest.mark.parametrize("preset", PRESETS[1:], ids=lambda preset: preset.name)
async def test_each_preset_looks_as_it_did(
    story: Path, timed: Path, preset: Preset, tmp_path: Path
) -> None:
    path, moment = (timed, 5) if preset.times else (story, 10)
    kept = tmp_path / "screen.json"
    KeptScreen(preset.name, {}).write(kept)
    session = open_recording(str(path))
    try:
        app = StepperApp(session, at=moment, kept=kept)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: settled(app))
            if preset.times:
                await until(pilot, lambda: any("▶net.py:21" in line for line in plain(app)))
                await until(pilot, lambda: any("20 ms█" in line for line in plain(app)))
            await pilot.pause()
            seen = picture(app)
    finally:
        session.close()
    compare(f"preset-{preset.name}", seen)


@pytest.mark.parametrize(
    ("name", "size", "dies"),
    [("narrow-cache", (80, 24), False), ("wide-cache", (120, 40), True)],
)
async def test_the_cache_looks_as_it_did(
    story: Path, name: str, size: tuple[int, int], dies: bool
) -> None:
    session = CacheSession(story, 6)
    app = StepperApp(session)
    async with app.run_test(size=size) as pilot:
        await pilot.press("k", "z")
        await until(pilot, lambda: any("2 0/1" in line for line in plain(app)))
        await pilot.press("a", *"x", "enter", "down", "down", "right")
        await until(pilot, lambda: any("held by" in line or "▸ ♥" in line for line in plain(app)))
        await pilot.press("down", "down", "right")
        if dies:
            session.kill()
            await pilot.press("z", "e", *"del scaler", "enter")
            await until(pilot, lambda: any("†" in line for line in plain(app)))
        await until(pilot, lambda: settled(app))
        await pilot.pause()
        seen = picture(app)
        session.alive = False
    session.close()
    compare(name, seen)


def compare(name: str, seen: str) -> None:
    """A screen must look as it was kept."""
    kept = KEPT / f"{name}.txt"
    if UPDATE:
        kept.write_text(seen, encoding="utf-8")
    assert seen == kept.read_text(encoding="utf-8")
