"""Going back in a translation from the screen."""

from __future__ import annotations

from pathlib import Path

from stepper.model.control import ForkTranslation, Jump, Stopped
from stepper.tui.cache_dialogs import ActionsScreen
from tests.tui.screen import until
from tests.tui.test_app import status
from tests.tui.test_cache_pane import cached


async def test_the_screen_asks_what_is_to_be_other(sample_path: Path) -> None:
    async with cached(sample_path, shown=False) as (app, session, pilot):
        session.stopped = Stopped(20, "step")
        app.cursor.goto(7)
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, ActionsScreen))
        await pilot.press("b")
        asked = [ForkTranslation(1, 7, break_graph=True)]
        await until(pilot, lambda: session.asked_for(ForkTranslation) == asked)
        await pilot.press("F", "v", *"x = 3", "enter")
        asked.append(ForkTranslation(2, 7, (("x", "3"),)))
        await until(pilot, lambda: session.asked_for(ForkTranslation) == asked)
        await pilot.press("F", "d", *"guard", "enter")
        await until(pilot, lambda: "nothing that a fork can do" in status(app))
        app.action_jump()
        assert "what is recorded has happened" in status(app), "the cursor is at an earlier moment"
        app.cursor.goto(20)
        for typed, answer in (("x", "'x' is not a line"), ("12", "")):
            app.action_jump()
            await pilot.press(*typed, "enter")
            await until(pilot, lambda answer=answer: answer in status(app))  # type: ignore[misc]  # no type is inferred for a default
        assert session.asked_for(Jump) == [Jump(3, 12)]
        session.stopped = None
        await pilot.press("F")
        await until(pilot, lambda: "fork at a stop in a translation" in status(app))
