"""The cache on the screen, on a session whose program is played by the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from stepper.model.control import (
    CheckCache,
    CloneEntry,
    EditEntry,
    FetchCode,
    InspectEntry,
    ListCache,
    MarkDynamic,
    RegisterEntry,
    RelaxGuard,
    RemoveEntry,
    RunEntry,
    Running,
    SkipCall,
    StepEntry,
    Stopped,
)
from stepper.tui.app import StepperApp
from stepper.tui.cache_dialogs import ActionsScreen, BytecodeScreen
from tests.client.depyf import fake_depyf
from tests.tui.cache_session import CacheSession
from tests.tui.screen import plain, until
from tests.tui.test_app import NARROW, WIDE, opened, status


@asynccontextmanager
async def cached(
    path: Path, size: tuple[int, int] = WIDE, *, shown: bool = True
) -> AsyncIterator[tuple[StepperApp, CacheSession, Pilot[Any]]]:
    """The application, with the cache over the whole screen when it is `shown`."""
    session = CacheSession(path)
    app = StepperApp(session)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        if shown:
            await pilot.press("k", "z")
            await until(pilot, lambda: "2 0/1" in text(app))
        yield app, session, pilot
        session.alive = False


def text(app: StepperApp) -> str:
    return "\n".join(line.rstrip() for line in plain(app))


async def row(app: StepperApp, pilot: Pilot[Any], words: str) -> None:
    """Put the cursor on the first row with these words."""
    lines = app.desk.panes["cache"].lines  # type: ignore[attr-defined]  # set as programs set it
    await until(pilot, lambda: any(words in lines.text_at(i) for i in range(lines.count)))
    lines.move_cursor(next(i for i in range(lines.count) if words in lines.text_at(i)))
    await pilot.pause()


async def unfold(app: StepperApp, pilot: Pilot[Any], *rows: str) -> None:
    """Open these rows, each in what the one before has opened."""
    for words in rows:
        await row(app, pilot, words)
        await pilot.press("right")


async def test_entries_are_listed_in_the_order_of_lookup(sample_path: Path) -> None:
    async with cached(sample_path, NARROW) as (app, _, _):
        seen = text(app)
        assert "apply  2 entries of at most 8  net.py:25" in seen
        assert "✓ 1 0/0  valid  3 guards  2 hits  eager  3 nodes" in seen
        assert seen.index("1 0/0") < seen.index("2 0/1")
        assert "k cache 2" in seen


async def test_an_opened_entry_shows_lives_guards_code_and_graph(sample_path: Path) -> None:
    async with cached(sample_path) as (app, session, pilot):
        assert not session.asked_for(InspectEntry)
        await unfold(app, pilot, "1 0/0", "lives on")
        assert "♥ lives on class Scaler  L['scaler']  alive  because of" in text(app)
        assert "held by module __main__: scaler" in text(app)
        await unfold(app, pilot, "graph", "transformed code", "guards 3", "TENSOR_MATCH")
        assert "return x * 2" in text(app)
        assert "RETURN_VALUE" in text(app)
        assert "expected  Tensor float32[4]" in text(app)
        assert "because of  net.py:27 in apply" in text(app)
        assert len(session.asked_for(InspectEntry)) == 1


async def test_code_is_decompiled_in_a_process_of_its_own(
    sample_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_depyf(tmp_path, monkeypatch, "return 'def apply(x): ...'")
    async with cached(sample_path) as (app, session, pilot):
        await unfold(app, pilot, "1 0/0", "decompiled")
        await until(pilot, lambda: "def apply(x): ..." in text(app))
        fake_depyf(tmp_path, monkeypatch, "raise ValueError('what is this?')")
        await unfold(app, pilot, "2 0/1")
        await row(app, pilot, "2 0/1")
        await pilot.press(*["down"] * 3, "right")
        await until(pilot, lambda: "could not decompile it: ValueError: what is" in text(app))
        assert len(session.asked_for(FetchCode)) == 2


async def test_nothing_is_asked_while_nobody_sees_it(sample_path: Path) -> None:
    async with cached(sample_path, NARROW, shown=False) as (app, session, pilot):
        await pilot.press("S", "s", "1", "2", "e", *"x = 1", "enter", "escape")
        await pilot.pause(0.4)
        assert not session.requests
        await pilot.press("k")
        await until(pilot, lambda: "2 0/1" in text(app))
        await pilot.press("1", "e", *"y = 1", "enter", "escape")
        await pilot.pause(0.5)
        assert len(session.requests) == 1


async def test_a_death_is_seen_at_once_with_object_guard_and_place(sample_path: Path) -> None:
    async with cached(sample_path) as (app, session, pilot):
        await unfold(app, pilot, "1 0/0", "guards 3")
        session.kill()
        await pilot.press("z", "e", *"del scaler", "enter")
        await until(pilot, lambda: "✗ 1 0/0  invalid" in text(app))
        assert "entry 1 (0/0) died: class Scaler died, in the console" in status(app)
        await pilot.press("escape", "k", "z")
        await until(pilot, lambda: "invalid  class Scaler died, in the console" in text(app))
        assert "† lives on class Scaler  L['scaler']  DEAD" in text(app)
        assert "†  2 ID_MATCH  L['scaler']  class Scaler" in text(app)


async def test_arguments_are_run_against_the_cache(sample_path: Path) -> None:
    async with cached(sample_path) as (app, session, pilot):
        await pilot.press("a", *"torch.ones(5)", "enter")
        await until(pilot, lambda: "✓ wins" in text(app))
        assert "entry 2 would run; on it h runs it here, H steps it" in status(app)
        assert "✗ does not match: tensor 'L['x']' size mismatch" in text(app)
        await unfold(app, pilot, "1 0/0", "guards 3")
        assert "✗  1 TENSOR_MATCH  L['x']  Tensor float32[4]  size [4] ≠ [5]" in text(app)
        await row(app, pilot, "apply")
        await pilot.press("A", "enter")
        await until(pilot, lambda: "the same as eager" in status(app))
        asked = [(each.arguments, each.compare) for each in session.asked_for(CheckCache)]
        assert asked == [("torch.ones(5)", False), ("torch.ones(5)", True)]


async def test_the_arguments_of_a_recorded_call_are_asked_with(sample_path: Path) -> None:
    async with cached(sample_path) as (app, session, pilot):
        await pilot.press("a", *"of 1 (x=torch.ones(5))", "enter")
        await until(pilot, lambda: "✓ wins" in text(app))
        await pilot.press("a", *(["backspace"] * 30), *"of 99999", "enter")
        await until(pilot, lambda: "moments go from 1" in status(app))
        (asked,) = session.asked_for(CheckCache)
        assert "f_locals={" in asked.arguments
        assert "**dict(x=torch.ones(5))" in asked.arguments


async def test_a_check_is_forgotten_when_the_cache_has_changed(sample_path: Path) -> None:
    async with cached(sample_path) as (app, session, pilot):
        await pilot.press("a", "enter")
        await until(pilot, lambda: "✓ wins" in text(app))
        session.kill()
        app.post_message(StepperApp.FromSession(app.session, Stopped(21, "step")))
        session.stopped = Stopped(21, "step")
        await until(pilot, lambda: "invalid" in text(app))
        assert "wins" not in text(app)


async def test_the_winner_is_run_here_or_stepped_where_the_program_runs_it(
    sample_path: Path,
) -> None:
    async with cached(sample_path) as (app, session, pilot):
        await row(app, pilot, "2 0/1")
        await pilot.press("h", *"torch.ones(4)", "enter")
        await until(pilot, lambda: "entry 2: Tensor f32[4]; the same as eager" in status(app))
        assert [each.entry for each in session.asked_for(RunEntry)] == [2]
        await pilot.press("H", "enter")  # with the arguments that were typed last
        asked = [(each.entry, each.arguments) for each in session.asked_for(StepEntry)]
        assert asked == [(2, "torch.ones(4)")]
        await pilot.press("b")
        assert "breakpoint set: execute:apply" in status(app)


async def test_a_copy_is_made_registered_and_removed(sample_path: Path) -> None:
    async with cached(sample_path) as (app, session, pilot):
        await unfold(app, pilot, "1 0/0", "guards 3")
        await row(app, pilot, "TENSOR_MATCH")
        await pilot.press("shift+down", "d")
        await until(pilot, lambda: "○ 3 copy of 0/0  draft" in text(app))
        assert "is a draft: p puts it into the cache; beware: TENSOR_MATCH" in status(app)
        assert [each.drop for each in session.asked_for(CloneEntry)] == [(1, 2)]
        await row(app, pilot, "copy of 0/0")
        await pilot.press("w", *"L['x'].dim() == 1", "enter")
        await until(pilot, lambda: len(session.asked_for(CloneEntry)) == 2)
        await pilot.press("p")
        await until(pilot, lambda: "✓ 3 copy of 0/0  valid" in text(app))
        await pilot.press("p")
        assert "put the cursor on a draft" in status(app)
        await pilot.press("x")
        await until(pilot, lambda: "copy of" not in text(app))
        assert "thrown away" in status(app)
        assert len(session.asked_for(RegisterEntry)) == len(session.asked_for(RemoveEntry)) == 1


async def test_the_menu_shows_what_can_be_done_and_acts_on_its_own_row(sample_path: Path) -> None:
    async with cached(sample_path, NARROW) as (app, session, pilot):
        await row(app, pilot, "apply")
        await pilot.press("m")
        assert "Run arguments against the cache" in text(app)
        assert "Run the entry by hand" not in text(app)
        await pilot.press("escape")
        await row(app, pilot, "1 0/0")
        await pilot.press("m")
        assert isinstance(app.screen, ActionsScreen)
        assert "apply, entry 1 (0/0)" in text(app)
        assert "Put the draft into the cache" not in text(app)
        # The entry is gone before something is chosen.
        del session.entries[1]
        session.stopped = Stopped(21, "step")
        listed = len(session.asked_for(ListCache))
        app.post_message(StepperApp.FromSession(app.session, session.stopped))
        await until(pilot, lambda: len(session.asked_for(ListCache)) > listed)
        await pilot.pause(0.5)
        session.refusal = "there is no cache entry 1"
        await pilot.press("h", "enter")
        await until(pilot, lambda: "there is no cache entry 1" in status(app))
        assert [each.entry for each in session.asked_for(RunEntry)] == [1]


async def test_edited_bytecode_stays_until_it_is_taken(sample_path: Path) -> None:
    async with cached(sample_path, NARROW) as (app, session, pilot):
        await row(app, pilot, "1 0/0")
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, BytecodeScreen))
        area = app.screen.query_one(TextArea)
        area.text = "NOTHING\n"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "no draft was made: 'NOTHING' is no instruction" in text(app))
        await pilot.press("escape")
        assert "Esc again throws the changes away" in text(app)
        area.text = "NOP\nRETURN_VALUE\n"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: not isinstance(app.screen, BytecodeScreen))
        await until(pilot, lambda: "copy of 0/0  draft" in text(app))
        edits = [each.bytecode for each in session.asked_for(EditEntry)]
        assert edits == ["NOTHING\n", "NOP\nRETURN_VALUE\n"]


async def test_what_cannot_be_done_is_said(sample_path: Path) -> None:
    async with cached(sample_path, NARROW) as (app, session, pilot):
        await row(app, pilot, "apply")
        await pilot.press("h")
        assert "put the cursor on an entry" in status(app)
        await pilot.press("d")
        assert "put the cursor on a guard" in status(app)
        session.refusal = "the program is running: pause it first"
        await pilot.press("a", "enter")
        await until(pilot, lambda: "pause it first" in status(app))
        await unfold(app, pilot, "1 0/0", "guards 3")
        await until(pilot, lambda: "pause it first" in text(app).rpartition("\n")[0])


async def test_a_listing_that_is_refused_is_asked_for_again(sample_path: Path) -> None:
    async with cached(sample_path, NARROW, shown=False) as (app, session, pilot):
        session.refusal = "another thread is compiling"
        await pilot.press("k")
        await until(pilot, lambda: "another thread is compiling" in text(app))
        session.refusal = ""
        await until(pilot, lambda: "2 0/1" in text(app))


async def test_one_listing_at_a_time_is_asked_for(sample_path: Path) -> None:
    async with cached(sample_path) as (app, session, pilot):
        session.held = []
        for moment in (21, 22, 23):
            session.stopped = Stopped(moment, "step")
            app.post_message(StepperApp.FromSession(app.session, session.stopped))
            await pilot.pause(0.35)
            await until(pilot, lambda: bool(session.held))
        assert len(session.held) == 1
        held, session.held = session.held, None
        held[0]()
        await until(pilot, lambda: len(session.asked_for(ListCache)) == 3)
        await pilot.pause(0.5)
        assert len(session.asked_for(ListCache)) == 3


async def test_where_there_is_no_cache_it_says_why(sample_path: Path) -> None:
    async with opened(sample_path, NARROW) as (app, pilot):
        await pilot.press("k")
        assert "gone with the program" in text(app)
        await pilot.press("m")
        assert "nothing here" in status(app)
        await pilot.press("a")
        assert "put the cursor on a code" in status(app)


async def test_a_recording_of_another_process_has_no_cache(
    sample_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("stepper.client.session.Session.growing", True)
    async with opened(sample_path, NARROW) as (app, pilot):
        await pilot.press("k")
        assert "a recording holds no cache: it is the living program's" in text(app)


async def test_of_a_program_that_ends_the_last_listing_stays(sample_path: Path) -> None:
    async with cached(sample_path, NARROW) as (app, session, pilot):
        session.alive = False
        session.stopped = None
        app.post_message(StepperApp.FromSession(app.session, Running()))
        await until(pilot, lambda: "as it was when the program was asked last" in text(app))
        assert "2 0/1" in text(app)


async def test_away_from_the_stop_it_says_of_when_it_is(sample_path: Path) -> None:
    async with cached(sample_path, NARROW) as (app, _, pilot):
        assert "you look at" not in text(app)
        await pilot.press("S")
        assert "as it is where the program stands, moment 20; you look at moment 19" in text(app)


async def test_an_answer_after_the_end_of_the_application_harms_nobody(sample_path: Path) -> None:
    late: list[Any] = []
    async with cached(sample_path) as (_, session, pilot):
        session.held = late
        await pilot.press("a", "enter")
        await pilot.pause()
    for answer in late:
        answer()


async def test_what_becomes_of_a_call_is_decided_at_the_stop(sample_path: Path) -> None:
    async with cached(sample_path, shown=False) as (app, session, pilot):
        session.stopped = Stopped(
            20, "breakpoint", "scale: 0/0: TENSOR_MATCH L['x']: shape[0] 4 ≠ 5"
        )
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, ActionsScreen))
        await until(pilot, lambda: "shape[0] 4 ≠ 5" in " ".join(text(app).split()))
        assert "s  skip: run this call uncompiled, compile nothing" in text(app)
        await pilot.press("d")
        await until(pilot, lambda: session.asked_for(MarkDynamic) == [MarkDynamic(1)])
        await until(pilot, lambda: "x.shape[0] is marked dynamic" in status(app))
        await pilot.press("D", "n", *"self.w 1", "enter")
        named = MarkDynamic(2, "self.w", 1)
        await until(pilot, lambda: session.asked_for(MarkDynamic)[1:] == [named])
        await pilot.press("D", "r")
        await until(pilot, lambda: session.asked_for(RelaxGuard) == [RelaxGuard(3)])
        session.refusal = "the program does not stand before a compilation"
        await pilot.press("D", "s")
        await until(pilot, lambda: session.asked_for(SkipCall) == [SkipCall(4)])
        await until(pilot, lambda: "does not stand before" in status(app))
        session.stopped = None
        await pilot.press("D")
        await until(pilot, lambda: "miss stops where there is a choice" in status(app))
