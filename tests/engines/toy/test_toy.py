"""An engine of somebody else's, which nothing outside of its folder knows: it is recorded, stepped,
asked and shown by every front end."""

from __future__ import annotations

import dis
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import CodeType

import pytest

from stepper.client.launch import LaunchSpec, launch
from stepper.client.plan import ReplayError, plan_of
from stepper.debuggee.registry import names
from stepper.model.breakpoint import parse_breakpoint
from stepper.model.stepping import Motion
from stepper.model.trace import Outcome
from stepper.recording.navigation import move
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from tests.conftest import clean_environment
from tests.tui.screen import plain, until
from tests.tui.test_app import opened

FOLDER = Path(__file__).parent
PROGRAM = """
import toy_compiler

@toy_compiler.compile
def f(x):
    y = x + x
    return y * 2

print(f(1), f(2), f("a"))
"""
MADE = "toy_engine:ENGINE"
"""How an engine is asked for that is not registered."""


def stepper(*arguments: object, cwd: Path, path: Path = FOLDER) -> str:
    """What a command prints, which has to do what it was asked to do."""
    done = subprocess.run(
        [sys.executable, "-m", "stepper", *map(str, arguments)],
        cwd=cwd,
        env=clean_environment() | {"PYTHONPATH": os.pathsep.join((str(path), str(FOLDER)))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the program."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "program.py").write_text(PROGRAM)
    told = stepper("record", "--engine", MADE, "-o", "r.stepper", "program.py", cwd=folder)
    assert "4 8 aaaa" in told
    assert "2 translations" in told
    return folder / "r.stepper"


@pytest.fixture
def recording(path: Path) -> Iterator[Recording]:
    """The same, open, in a process that has never heard of the engine."""
    opened = Recording.open(str(path))
    yield opened
    opened.close()


def _counted_at(moment: int) -> list[str]:
    """What is counted of the function by then: its instructions are not those of another Python.
    (A pane may cut the longer names.)"""
    module = compile(PROGRAM, "program.py", "exec")
    code = next(each for each in module.co_consts if isinstance(each, CodeType))
    names = [each.opname for each in dis.get_instructions(code)][: moment - 1]
    newest = [name for at, name in enumerate(names, 1) if name not in names[at:]]
    return [f"{names.count(name)} × {name}" for name in newest]


def _stands_at(app: StepperApp, number: int) -> bool:
    return f"moment {number}/" in plain(app)[0]


def test_it_is_a_small_engine() -> None:
    lines = [(FOLDER / name).read_text() for name in ("toy_engine.py", "toy_compiler.py")]
    assert sum(text.count("\n") for text in lines) <= 150
    assert "toy_engine" not in sys.modules


def test_each_instruction_is_a_moment_with_its_state(recording: Recording) -> None:
    first, second = recording.translations()
    assert (first.outcome, first.guards, first.nodes) == (Outcome.COMPILED, 1, 1)
    assert second.recompile_reason == "the types are new: str"
    assert recording.newest == first.instructions + second.instructions
    state = recording.state(4)
    assert [state.values[each].text for each in state.top.stack] == _counted_at(4)
    assert recording.facts.capabilities.compile == "toy_compiler.compile"
    assert move(recording, 4, Motion.STEP, -1) == 3


def test_a_stop_before_which_nothing_was_recorded_shows_all(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    told = stepper(
        "console", "--engine", MADE, "--detail", "stops", "-b", "program.py:7", "-x", "stack",
        "-x", "s", "-x", "p stack[-1].opname", "-x", "q", "program.py", cwd=tmp_path,
    )  # fmt: skip
    assert "[0] 1 × RESUME" in told
    assert "'LOAD_FAST" in told


def test_the_console_steps_it_both_ways_and_asks(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    asked = ["s 3", "bs", "stack", "guards", "why", "idle-guards", "c", "why", "q"]
    told = stepper(
        "console", "--engine", MADE, "-b", "function:f", *(f"-x{each}" for each in asked),
        "program.py", cwd=tmp_path,
    )  # fmt: skip
    assert "moment 3/4" in told
    assert f"[1] {_counted_at(3)[1]}" in told
    assert "COUNTED L['x']" in told
    assert "no entry is recorded whose values carry their guards" in told
    assert "the types are new: str" in told


def test_what_the_engine_cannot_do_is_said(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    script = "cache\nfork 1 break-graph\nq\n"
    done = subprocess.run(
        [sys.executable, "-m", "stepper", "console", "--engine", MADE, "-b", "function:f",
         "program.py"],
        cwd=tmp_path, env=clean_environment() | {"PYTHONPATH": str(FOLDER)}, input=script,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert "the engine of this session cannot do that with its compiler's cache" in done.stdout
    assert "the engine of this session cannot go back in a translation" in done.stdout


def test_every_question_has_an_answer(path: Path) -> None:
    def asked(*arguments: object) -> str:
        return stepper(*arguments, cwd=path.parent)

    why = asked("why-recompile", path.name)
    assert "1 function compiled again" in why
    assert "the types are new: str" in why
    assert "no graph break" in asked("why-break", path.name)
    assert "checks type(x).__name__ == 'int'" in asked("why-guard", path.name, 1)
    assert "no entry is recorded whose" in asked("idle-guards", path.name)
    rows = asked("query", "--format", "json", path.name, "SELECT kind, source FROM guards")
    assert json.loads(rows)[0] == {"kind": "COUNTED", "source": "L['x']"}
    report = json.loads(asked("report", "--format", "json", path.name))
    assert report["totals"]["recompilations"] == 1
    assert report["about"]["engine"] == MADE
    assert "the types are new" in asked("report", "--format", "markdown", path.name)
    asked("report", "-o", "r.html", path.name)
    assert "the types are new" in path.with_name("r.html").read_text()
    assert "no difference" in asked("diff", path.name, path.name)


async def test_the_screen_shows_its_recording(path: Path) -> None:
    async with opened(path, (120, 40), at=4) as (app, pilot):
        assert "f" in plain(app)[0]
        assert any(_counted_at(4)[-1] in line for line in plain(app))
        await pilot.press("W")
        await until(pilot, lambda: any("why" in line for line in plain(app)))


async def test_the_screen_steps_its_program_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    spec = LaunchSpec(
        target=str(program), engine=MADE, recording=str(tmp_path / "live.stepper"),
        breakpoints=(parse_breakpoint("function:f"),),
    )  # fmt: skip
    session = launch(spec)
    app = StepperApp(session)
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "moment 1/" in plain(app)[0])
            for number in (2, 3):
                await pilot.press("s")
                await until(pilot, partial(_stands_at, app, number))
            assert any(_counted_at(3)[-1][:13] in line for line in plain(app))
            await pilot.press("S")
            await until(pilot, lambda: "moment 2/" in plain(app)[0])
    finally:
        session.close()


def test_a_test_is_held_to_what_it_may_compile(tmp_path: Path) -> None:
    (tmp_path / "test_limits.py").write_text(
        "import pytest\nimport toy_compiler\n"
        "@pytest.mark.stepper_limits(recompilations=0)\n"
        "def test_types():\n    f = toy_compiler.compile(lambda x: x)\n    f(1), f('a')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--stepper-engine", MADE],
        cwd=tmp_path, env=clean_environment() | {"PYTHONPATH": str(FOLDER)},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert "1 recompilation, none allowed" in done.stdout, done.stdout + done.stderr
    assert "the types are new: str" in done.stdout


# --- registered, and not


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, one of which brings the engine as `toy`."""
    packages = tmp_path / "packages"
    about = packages / "toy-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[stepper.engines]\ntoy = {MADE}\n")
    return packages


def test_an_installed_package_brings_an_engine(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    told = stepper(
        "record", "--engine", "toy", "-o", "r.stepper", "program.py", cwd=tmp_path, path=installed
    )
    assert "2 translations" in told
    recorded = Recording.open(str(tmp_path / "r.stepper"))
    try:
        with pytest.raises(ReplayError, match="'toy' is not registered here"):
            plan_of(recorded, trust=True)
        monkeypatch.syspath_prepend(str(installed))
        assert names() == ["dynamo", "native", "toy"]
        assert plan_of(recorded, trust=True).spec.engine == "toy"
    finally:
        recorded.close()
    assert "toy_engine" not in sys.modules


def test_no_module_is_imported_because_a_recording_names_it(recording: Recording) -> None:
    with pytest.raises(ReplayError, match="is not registered here"):
        plan_of(recording, trust=True)
    assert "toy_engine" not in sys.modules


@pytest.mark.parametrize(
    ("engine", "why"),
    [
        ("nowhere:ENGINE", "No module named 'nowhere'"),
        ("toy_engine:NOTHING", "has no attribute 'NOTHING'"),
        ("os:getcwd", "is no engine"),
    ],
)
def test_an_engine_that_is_none_is_told_and_the_program_runs(
    engine: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    told = stepper("record", "--engine", engine, "program.py", cwd=tmp_path)
    assert "4 8 aaaa" in told
    assert why in told
