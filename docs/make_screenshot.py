"""Draws docs/images/toy_example.svg: the real interface on a real recording of the toy example,
at its graph break.

    python docs/make_screenshot.py
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from stepper.client.session import open_recording
from stepper.model.trace import EventKind
from stepper.tui.app import StepperApp

ROOT = Path(__file__).resolve().parents[1]
IMAGE = ROOT / "docs" / "images" / "toy_example.svg"
SIZE = (120, 40)
FONTS = "Fira Code, Menlo, Consolas, DejaVu Sans Mono, monospace"


def record(path: Path) -> None:
    """Record the toy example."""
    subprocess.run(
        [sys.executable, "-m", "stepper", "record", "-o", str(path), "demos/toy_example.py"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        check=True,
    )


async def draw(path: Path) -> str:
    """The screen at the graph break, as SVG."""
    session = open_recording(str(path))
    try:
        recording = session.recording
        assert recording is not None
        graph_break = recording.next_event(0, (EventKind.GRAPH_BREAK,), 1)
        assert graph_break is not None
        app = StepperApp(session, at=graph_break.moment)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            app.action_reveal("graph")
            await pilot.pause()
            app.action_reveal("source")
            await pilot.pause(0.5)
            # No font is fetched from the network: one of the reader's own will do.
            image = re.sub(r"@font-face \{.*?\}\s*", "", app.export_screenshot(), flags=re.DOTALL)
            return image.replace("Fira Code, monospace", FONTS)
    finally:
        session.close()


def main() -> None:
    """Write the image."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "toy_example.stepper"
        record(path)
        IMAGE.parent.mkdir(exist_ok=True)
        IMAGE.write_text(asyncio.run(draw(path)), encoding="utf-8")


if __name__ == "__main__":
    main()
