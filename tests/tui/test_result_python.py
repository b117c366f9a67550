"""The result's view of transformed code as Python, which is decompiled when somebody looks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from stepper.model.control import FetchCode
from stepper.tui.app import StepperApp
from tests.client.depyf import fake_depyf
from tests.tui.cache_session import CacheSession
from tests.tui.screen import plain, until
from tests.tui.test_app import WIDE, opened


def text(app: StepperApp) -> str:
    return "\n".join(line.rstrip() for line in plain(app))


@asynccontextmanager
async def looking(path: Path) -> AsyncIterator[tuple[StepperApp, CacheSession, Pilot[Any]]]:
    """The result over the whole screen, of the translation that made entry 2."""
    session = CacheSession(path)
    assert session.recording is not None
    made = session.recording.translations()[0].id
    session.entries[2] = msgspec.structs.replace(session.entries[2], translation=made)
    app = StepperApp(session)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()
        await pilot.press("w", "z")
        await pilot.pause()
        yield app, session, pilot
        session.alive = False


async def test_it_is_decompiled_when_the_view_is_shown_and_once(
    sample_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_depyf(tmp_path, monkeypatch, "return 'def forward(self, x):\\\\n    return graph(x)'")
    async with looking(sample_path) as (app, session, pilot):
        assert not session.asked_for(FetchCode)
        await pilot.press("V")
        await until(pilot, lambda: "return graph(x)" in text(app))
        await pilot.press("s", "s", "v", "V")
        await until(pilot, lambda: "return graph(x)" in text(app))
        assert [each.entry for each in session.asked_for(FetchCode)] == [2]


async def test_why_there_is_none_is_said_and_to_come_back_asks_again(
    sample_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_depyf(tmp_path, monkeypatch, missing=True)
    async with looking(sample_path) as (app, session, pilot):
        await pilot.press("V")
        await until(pilot, lambda: "depyf is not installed: pip install" in text(app))
        fake_depyf(tmp_path, monkeypatch, "raise ValueError('what is this?')")
        await pilot.press("v", "V")
        await until(pilot, lambda: "could not decompile it: ValueError: what is" in text(app))
        session.entries.pop(2)
        await pilot.press("v", "V")
        await until(pilot, lambda: "has no entry of this translation any more" in text(app))
        session.refusal = "another thread is compiling"
        await pilot.press("v", "V")
        await until(pilot, lambda: "another thread is compiling" in text(app))


async def test_a_recording_alone_has_nothing_to_decompile(sample_path: Path) -> None:
    async with opened(sample_path, WIDE, at=20) as (app, pilot):
        await pilot.press("w", "z", "V")
        await until(pilot, lambda: "a recording holds no code to decompile" in text(app))
