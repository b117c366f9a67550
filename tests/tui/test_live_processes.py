"""The processes of a living program on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import OptionList

from stepper.tui.app import StepperApp
from stepper.tui.panes.output import OutputPane
from stepper.tui.processes_dialog import LiveProcessesScreen
from tests.client.families import FORKED, family
from tests.tui.screen import plain, until
from tests.tui.test_app import WIDE


def text(app: StepperApp) -> str:
    return "\n".join(plain(app))


@pytest.mark.slow
async def test_processes_are_listed_stepped_and_gone_between(tmp_path: Path) -> None:
    with family(tmp_path, FORKED, "function:work") as forked:
        app = StepperApp(forked.first)
        async with app.run_test(size=WIDE) as pilot:
            await until(pilot, lambda: "forked" in forked.output)
            forked.first.write_input("1\n")
            # The one that stops is shown, since the program itself does not stand still.
            await until(pilot, lambda: app.session.started is not None)
            child = app.session
            await until(pilot, lambda: f"process {child.pid}" in plain(app)[0])
            assert "STOPPED" in plain(app)[0]
            assert f"process {child.pid}: stopped, breakpoint 1" in plain(app)[-1]
            assert "def work(x):" in text(app)
            before = app.cursor.position
            await pilot.press("s", "s")
            await until(pilot, lambda: app.cursor.position == before + 2)
            # Another one stops, while this one stands: that is only said.
            forked.first.write_input("0\n")
            await until(pilot, lambda: "Ctrl-O goes there" in plain(app)[-1])
            assert app.session is child
            (other,) = (each for each in forked.processes.standing if each is not child)
            await pilot.press("ctrl+o")
            await until(pilot, lambda: isinstance(app.screen, LiveProcessesScreen))
            options = app.screen.query_one(OptionList)
            await until(pilot, lambda: text(app).count("stopped, ") >= 2)
            assert "runs, waits for input" in text(app)
            pids = [forked.first.pid, *sorted((child.pid, other.pid))]
            assert options.highlighted == pids.index(child.pid)
            options.highlighted = pids.index(other.pid)
            await pilot.press("enter")
            await until(pilot, lambda: app.session is other)
            await until(pilot, lambda: f"process {other.pid}" in plain(app)[0])
            await pilot.press("c")
            await until(pilot, lambda: "worked 2" in forked.output)
            # Each has its own place, and all of them the program's output.
            await pilot.press("ctrl+o")
            await until(pilot, lambda: isinstance(app.screen, LiveProcessesScreen))
            app.screen.query_one(OptionList).highlighted = pids.index(child.pid)
            await pilot.press("enter")
            await until(pilot, lambda: app.session is child)
            assert app.cursor.position == before + 2
            output = app.desk.panes["output"]
            assert isinstance(output, OutputPane)
            assert any("worked 2" in line for line in output.last_lines())
            # Who is asked to end the program is asked for all of them.
            await pilot.press("c")
            await until(pilot, lambda: "worked 3" in forked.output)
            forked.first.write_input("\x04")
            await until(pilot, lambda: not forked.processes.live)
            await pilot.press("q")
        assert app.leaving is None
