"""Panes that show what the compiler made, and the lists of everything that happened."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path
from typing import Any

import pytest

from stepper.client.session import open_recording
from stepper.model.program import Code, Instruction
from stepper.model.trace import EventKind, Outcome, Phase
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from stepper.tui.lines import Lines
from stepper.tui.panes.events import parse_filter
from tests.tape import Tape
from tests.tui.screen import plain, until
from tests.tui.test_app import NARROW, SIZES, WIDE, opened


def text(app: StepperApp) -> str:
    return "\n".join(line.rstrip() for line in plain(app))


def moment_of(app: StepperApp) -> int:
    assert app.snapshot is not None
    return app.snapshot.moment


async def at_event(app: StepperApp, pilot: Any, kind: EventKind, word: str = "") -> None:
    """Go to the moment after the first event of a kind that says a word."""
    assert app.session.recording is not None
    found = app.session.recording.events(kinds=(kind,), text=word)[0]
    app._tell(app.cursor.goto(found.moment + 1))
    await pilot.pause()


@SIZES
async def test_the_graph_marks_the_new_node_in_all_three_views(
    sample_path: Path, size: Any
) -> None:
    async with opened(sample_path, size, at=1) as (app, pilot):
        await pilot.press("6", "z")
        await at_event(app, pilot, EventKind.NODE, "mul = ")
        assert "[table] code  drawing" in text(app)
        assert "+ mul" in text(app)
        assert "operator.mul" in text(app)
        assert "BINARY_OP *" in text(app), "the instruction that made it"
        older = re.search(r"^  x +f32\[2, 3\]", text(app), re.M)
        assert older, "the older node is not marked"
        await pilot.press("v")
        assert "def forward(self, x):" in text(app)
        assert "+     mul = operator.mul(" in text(app)
        await pilot.press("v")
        assert "+ ●  mul  f32[2, 3]" in text(app)
        assert "▽  x  f32[2, 3]  L['x']" in text(app)


async def test_enter_on_a_node_goes_to_the_instruction_that_made_it(sample_path: Path) -> None:
    async with opened(sample_path, WIDE, at=1) as (app, pilot):
        await pilot.press("6")
        await at_event(app, pilot, EventKind.NODE, "mul = ")
        made = moment_of(app) - 1
        await pilot.press("s", "s", "end", "enter")
        await pilot.pause()
        assert moment_of(app) == made


@SIZES
async def test_guards_are_marked_filtered_and_lead_to_their_cause(
    sample_path: Path, size: Any
) -> None:
    async with opened(sample_path, size, at=1) as (app, pilot):
        await pilot.press("7", "z")
        await at_event(app, pilot, EventKind.GUARD, "EQUALS_MATCH")
        caused = moment_of(app) - 1
        assert re.search(r"^\+ L\['self'\]\.scale +\S+ +EQUALS_MATCH", text(app), re.M)
        assert re.search(r"^  \S+ +\S+ +TENSOR_MATCH", text(app), re.M)
        assert "L['self'].scale == 2.0" in text(app) or "___check" in text(app)
        await pilot.press("s", "s", "ampersand", *"scale", "enter")
        await pilot.pause()
        assert "TENSOR_MATCH" not in text(app)
        await pilot.press("home", "enter")
        await pilot.pause()
        assert moment_of(app) == caused
        await pilot.press("ampersand", "escape")
        await pilot.pause()
        assert "TENSOR_MATCH" in text(app)


@SIZES
async def test_frames_are_listed_with_their_outcome_and_enter_goes_to_one(
    sample_path: Path, size: Any
) -> None:
    async with opened(sample_path, size, at=1) as (app, pilot):
        await pilot.press("0", "z")
        assert "▶ 0/0 Net.forward" in text(app)
        assert "1/0 forward, resumed" in text(app)
        for word in ("✓ compiled", "– skipped", "✗ failed"):
            assert word in text(app)
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.snapshot is not None
        assert app.snapshot.translation is not None
        assert app.snapshot.translation.compile_id == "1/0"
        await pilot.press("ampersand", *"size mismatch", "enter")
        await pilot.pause()
        assert "  1/0 forward, resumed" not in text(app)
        assert "0/1 Net.forward" in text(app)


@SIZES
async def test_events_are_filtered_by_kind_and_text(sample_path: Path, size: Any) -> None:
    async with opened(sample_path, size, at=40) as (app, pilot):
        await pilot.press("9", "z")
        assert re.search(r"^│ +\d+ (node|guard) ", text(app), re.M)
        await pilot.press("ampersand", *"graph-break,restart")
        await pilot.pause()
        assert re.search("graph-break +Attempted to call function marked as skipped", text(app))
        assert re.search("restart +graph break in block", text(app))
        assert not re.search("guard {6}", text(app))
        await pilot.press("enter", "home", "enter")
        await pilot.pause()
        assert app.session.recording is not None
        assert app.session.recording.graph_breaks()[0].moment == moment_of(app)


async def test_the_events_begin_with_what_the_moment_is_about(sample_path: Path) -> None:
    session = open_recording(str(sample_path))
    assert session.recording is not None
    found = session.recording.graph_breaks()[0]
    session.close()
    async with opened(sample_path, WIDE, at=found.moment) as (app, pilot):
        await pilot.press("9", "z")
        await pilot.pause()
        assert f"graph-break: {found.reason.splitlines()[0]}" in text(app)


def test_a_filter_is_kinds_and_text() -> None:
    assert parse_filter("guard,node weight") == ((EventKind.GUARD, EventKind.NODE), "weight")
    assert parse_filter(" graph-break ") == ((EventKind.GRAPH_BREAK,), "")
    assert parse_filter("relu of x") == ((), "relu of x")
    assert parse_filter("guard,nonsense") == ((), "guard,nonsense")
    assert parse_filter("") == ((), "")


LOAD_SELF = "LOAD_FAST(_BORROW)? self"
"""A load of a variable; since Python 3.14 it mostly borrows the value."""


def _instruction(recording: Recording, moment: int) -> str:
    top = recording.state(moment).top
    found = recording.code(recording.frame(top.frame).code).instructions[top.ip]
    return f"{found.opname} {found.argrepr}"


async def test_the_result_shows_bytecode_side_by_side_and_follows_the_instruction(
    sample_path: Path,
) -> None:
    with contextlib.closing(Recording.open(str(sample_path))) as recording:
        begins = next(
            moment
            for moment in range(recording.attempt(2).first_moment, recording.newest)
            if re.fullmatch(LOAD_SELF, _instruction(recording, moment))
        )
    async with opened(sample_path, WIDE, at=begins) as (app, pilot):
        await pilot.press("w", "z")
        assert "0/0 Net.forward  compiled  2 attempts" in text(app)
        rows = [line for line in plain(app) if line.startswith("▶ ")]
        assert len(rows) == 1
        assert re.search(LOAD_SELF, rows[0])
        assert re.search(r"LOAD_GLOBAL .*__compiled_fn_1", rows[0])
        await pilot.press("s")
        assert any(line.startswith("▶ ") and "LOAD_ATTR scale" in line for line in plain(app))


async def test_the_result_says_why_the_graph_broke_and_compares_attempts(
    sample_path: Path,
) -> None:
    with contextlib.closing(Recording.open(str(sample_path))) as recording:
        second = recording.attempt(2).first_moment + 1
    async with opened(sample_path, WIDE, at=second) as (app, pilot):
        await pilot.press("w", "z", "v")
        assert "check_tensor(L['x'])" in text(app)
        await pilot.press("v")
        assert "return ((x,),)" in text(app)
        await pilot.press("v")
        screen = text(app)
        assert "graph break in attempt 1" in screen
        assert "Dynamo does not trace the builtin `print`." in screen
        assert "Hint: Move the print out" in screen
        assert "train.py:12 in <module>" in screen
        await pilot.press("v")
        screen = text(app)
        assert "thrown away: graph break in block" in screen
        assert "alike for" in screen
        await pilot.press("home", "enter")
        await pilot.pause()
        assert moment_of(app) == 1


async def test_a_result_that_is_not_there_is_explained(sample_path: Path) -> None:
    async with opened(sample_path, WIDE, at=1) as (app, pilot):
        assert app.session.recording is not None
        failed = app.session.recording.translations()[-1]
        app._tell(app.cursor.goto(failed.first_moment))
        await pilot.press("w", "z")
        assert "the translation failed: InternalTorchDynamoError: boom" in text(app)


@SIZES
async def test_the_timeline_shows_spans_and_marks_and_goes_where_it_is_clicked(
    sample_path: Path, size: Any
) -> None:
    async with opened(sample_path, size, at=1) as (app, pilot):
        await pilot.press("t", "z")
        lines = plain(app)
        rows = {line.split("  ")[0].strip(): line for line in lines}
        attempts = next(line for line in lines if line.startswith("attempts"))
        assert "├0/0 #1" in attempts
        assert "├1/0" in attempts
        assert "✗" in rows["breaks"]
        assert "↻" in rows["restarts"]
        assert any(line.startswith("depth 1") and "├block" in line for line in lines)
        column, row = attempts.index("├1/0"), lines.index(attempts)
        await pilot.click(offset=(column, row))
        await pilot.pause()
        assert app.snapshot is not None
        assert app.snapshot.translation is not None
        assert app.snapshot.translation.compile_id == "1/0"
        here = moment_of(app)
        await pilot.press("right")
        assert moment_of(app) > here
        await pilot.press("left", "left")
        assert moment_of(app) < here + 1
        await pilot.press("end")
        await pilot.pause()
        assert moment_of(app) == app.cursor.newest
        await pilot.press("i", "i")
        await pilot.pause()
        assert "├0/0 #1" not in text(app), "zoomed in at the end of the session"
        await pilot.press("o", "o", "home")
        await pilot.pause()
        assert "├0/0 #1" in text(app)


async def test_hidden_panes_ask_the_recording_for_nothing(
    sample_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(sample_path, NARROW, at=20) as (app, pilot):
        recording = app.session.recording
        assert recording is not None
        asked: list[str] = []

        def watch(name: str) -> None:
            original = getattr(recording, name)

            def ask(*args: Any, **options: Any) -> Any:
                asked.append(name)
                return original(*args, **options)

            monkeypatch.setattr(recording, name, ask)

        for name in ("guards", "nodes", "translations", "event_count", "event_moments", "output"):
            watch(name)
        await pilot.press("3", "z")
        asked.clear()
        await pilot.press("s", "s", "S")
        asked_now = set(asked) - {"guards"}
        assert not asked_now, "the stack shows guards on sources, and nothing else"


async def test_a_step_far_into_a_long_session_costs_what_one_at_its_start_does(
    big_path: Path,
) -> None:
    async with opened(big_path, WIDE, at=960) as (_, pilot):
        early = [(keys, await _a_step_costs(pilot, keys)) for keys in PANES_IN_TURN]
    async with opened(big_path, WIDE, at=90_000) as (app, pilot):
        for keys, cost in early:
            late = await _a_step_costs(pilot, keys)
            assert late < 3 * cost, f"after {keys!r}: {late:.3f} s, at the start {cost:.3f} s"
        await pilot.press("9")
        lines = app.query_one("#pane-events-filter-list", Lines)
        await until(pilot, lambda: lines.count > 8_000)


PANES_IN_TURN = ("6", "v", "v", "7", "9", "w", "t")


async def _a_step_costs(pilot: Any, keys: str) -> float:
    """The least CPU time in seconds that a step takes, Pilot's own share in it, with what the keys
    show."""
    await pilot.press(keys)
    spent: list[float] = []
    for step in "sSsS":
        begun = time.thread_time()
        await pilot.press(step)
        await pilot.pause()
        spent.append(time.thread_time() - begun)
    return min(spent)


async def test_an_entry_that_a_lookup_did_not_come_to_has_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "run.stepper"
    tape = Tape(str(path))
    rows = [Instruction(at, "ENTRY", argrepr=f"0/{2 - at}") for at in range(3)]
    rows += [Instruction(3, "MISS", argrepr="none"), Instruction(4, "HIT", argrepr="run it")]
    tape.begin(Code(0, "f", "f", "train.py", 1, tuple(rows)), "0/1", phase=Phase.LOOKUP)
    tape.start_attempt()
    for index in (0, 1, 4):  # the second of three fits
        tape.step(index, stack=(), locals={})
    tape.end_attempt()
    tape.end(Outcome.HIT)
    tape.close()
    async with opened(path, WIDE, at=3) as (app, pilot):
        await pilot.press("2", "z")
        shown = [line.strip(" │▐▌") for line in plain(app)]
        verdicts = {line[-3:]: line[0] for line in shown if " ENTRY " in f" {line} "}
        assert verdicts == {"0/2": "✗", "0/1": "✓", "0/0": "E"}
