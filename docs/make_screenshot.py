"""Draws the pictures in docs/images: the real interface on real recordings of the demos.

python docs/make_screenshot.py
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from stepper.client.session import open_recording
from stepper.model.trace import EventKind
from stepper.tui.app import StepperApp
from stepper.tui.presets import PRESETS
from stepper.tui.search_screen import SearchScreen

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
FONTS = "Fira Code, Menlo, Consolas, DejaVu Sans Mono, monospace"
REST = 3.0
"""Seconds for what is found out beside the screen."""


class Picture(NamedTuple):
    """A screen to draw."""

    name: str
    demo: str
    size: tuple[int, int]
    at: EventKind | None
    """The first event of this kind is shown; None: the recording's home."""
    preset: str = "step"
    search: str = ""
    lookups: bool = False
    """Whether the demo is recorded with its lookups."""


PICTURES = (
    Picture("toy_example", "toy_example.py", (120, 40), EventKind.GRAPH_BREAK),
    Picture("break", "graph_breaks.py", (160, 45), EventKind.GRAPH_BREAK, "break"),
    Picture("recompile", "recompilation.py", (120, 40), EventKind.RECOMPILE, "recompile"),
    Picture("cache", "lookups.py", (120, 40), EventKind.MISS, "cache", lookups=True),
    Picture("shapes", "sizes.py", (160, 45), EventKind.SPECIALIZE, "shapes"),
    Picture("time", "slow_compile.py", (160, 45), EventKind.RESTART, "time"),
    Picture("home", "recompilation.py", (120, 40), None),
    Picture("narrow", "toy_example.py", (80, 24), EventKind.GRAPH_BREAK),
    Picture("search", "toy_example.py", (100, 30), EventKind.GRAPH_BREAK, search="abs"),
)


def record(picture: Picture, path: Path) -> None:
    """Record a picture's demo."""
    more = ("--lookups",) if picture.lookups else ()
    subprocess.run(
        [
            sys.executable,
            "-m",
            "stepper",
            "record",
            *more,
            "-o",
            str(path),
            f"demos/{picture.demo}",
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        check=True,
    )


async def draw(picture: Picture, path: Path) -> str:
    """The screen at the first event of the kind, as SVG."""
    session = open_recording(str(path))
    try:
        recording = session.recording
        assert recording is not None
        at = None
        if picture.at is not None:
            event = recording.next_event(0, (picture.at,), 1)
            assert event is not None
            at = max(event.moment, 1)
        app = StepperApp(session, at=at, home=at is None)
        async with app.run_test(size=picture.size) as pilot:
            await pilot.pause()
            if picture.at is not None:
                app.desk.use(next(each for each in PRESETS if each.name == picture.preset))
            if picture.search:
                await pilot.press("ctrl+f", *picture.search)
                while not (isinstance(app.screen, SearchScreen) and app.screen.settled):
                    await pilot.pause(0.1)
                await pilot.press("down")
            await pilot.pause(REST)
            # No font is fetched from the network: one of the reader's own will do.
            image = re.sub(r"@font-face \{.*?\}\s*", "", app.export_screenshot(), flags=re.DOTALL)
            return image.replace("Fira Code, monospace", FONTS)
    finally:
        session.close()


def main() -> None:
    """Write the images."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for picture in PICTURES:
            path = Path(folder) / f"{picture.demo}.stepper"
            if not path.exists():
                record(picture, path)
            image = asyncio.run(draw(picture, path))
            (IMAGES / f"{picture.name}.svg").write_text(image, encoding="utf-8")


if __name__ == "__main__":
    main()
