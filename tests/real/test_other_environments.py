"""`--python`: programs of environments that are not stepper's own.

A program's environment need have only what its recording takes; what else is missing there is named
when it is needed, with what to do.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import stepper
from stepper.model.control import DebuggeeMessage, Hello, Refused
from stepper.model.launch import SESSION_VARIABLE, DebuggeeConfig, encode_config
from tests.conftest import ROOT, clean_environment
from tests.debuggee.harness import FrontEnd
from tests.environments import make_environment, site_packages

from .running import COMPILED, Outcome, look, run

LOOKS_AROUND = """
import importlib.util
import sys

names = ("bytecode", "rich", "textual", "msgspec", "stepper")
print(sys.prefix, [name for name in names if importlib.util.find_spec(name) is not None])
"""


@pytest.fixture(scope="module")
def with_msgspec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("with-msgspec") / "env"
    return make_environment(folder, ["torch", "msgspec"])


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_environment(tmp_path_factory.mktemp("bare") / "env", ["torch"])


def start(tmp_path: Path, *command: object) -> Outcome:
    """Not in the folder of the program, whose Python must not find the checkout by chance."""
    env = {name: value for name, value in clean_environment().items() if name != "PYTHONPATH"}
    env["XDG_STATE_HOME"] = str(tmp_path / "state")
    return run(["-m", "stepper", *command], ROOT, env=env)


def record(tmp_path: Path, python: Path, source: str, *options: object) -> Outcome:
    program = tmp_path / "program.py"
    program.write_text(source)
    file = tmp_path / "run.stepper"
    return start(tmp_path, "record", "-o", file, "--python", python, *options, program)


@pytest.mark.slow
def test_torch_and_msgspec_are_all_that_recording_takes(with_msgspec: Path, tmp_path: Path) -> None:
    source = LOOKS_AROUND + COMPILED
    outcome = record(tmp_path, with_msgspec, source, "--lookups", "--execute")
    prefix = with_msgspec.parent.parent
    assert (outcome.status, outcome.out) == (0, f"{prefix} ['msgspec', 'stepper']\n"), outcome.err
    there = look(tmp_path / "run.stepper")
    assert (set(there.functions), there.unfinished, there.ended) == ({"f"}, [], "exit")
    outcome = record(tmp_path, Path(sys.executable), COMPILED, "--lookups", "--execute")
    here = look(tmp_path / "run.stepper")
    assert here.moments == there.moments > 200, outcome.err


@pytest.mark.slow
def test_what_takes_more_names_it(with_msgspec: Path, tmp_path: Path) -> None:
    """The listing of an entry's bytecode; the rest of the entry is there."""
    advice = f"{with_msgspec} -m pip install bytecode"
    program = tmp_path / "program.py"
    program.write_text(COMPILED.replace("torch.ones(3)", "torch.ones(3)); f(torch.ones(4)"))
    walk = ("break recompile", "continue", "entry 1", "entry 1 text", f"edit 1 {program}", "quit")
    commands = [part for command in walk for part in ("-x", command)]
    shown = start(tmp_path, "console", "--python", with_msgspec, *commands, program).out
    assert "TENSOR_MATCH" in shown
    assert shown.count(advice) == 2, shown


def test_the_native_engine_names_what_it_takes(with_msgspec: Path, tmp_path: Path) -> None:
    source = "import stepper\nprint(stepper.compile(lambda x: x + 1)(1))\n"
    outcome = record(tmp_path, with_msgspec, source, "--engine", "native")
    assert f"{with_msgspec} -m pip install bytecode" in outcome.err


def test_an_environment_without_what_recording_takes_is_told_so(bare: Path, tmp_path: Path) -> None:
    outcome = record(tmp_path, bare, LOOKS_AROUND + COMPILED)
    assert (outcome.status, outcome.out) == (0, f"{bare.parent.parent} []\n")
    assert "nothing recorded: " in outcome.err
    assert "has no package msgspec, which stepper needs" in outcome.err
    assert f"{bare} -m pip install msgspec" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(("installed", "version"), [(False, ""), (True, "9.9"), (True, "")])
def test_another_python_takes_its_own_stepper_of_the_same_version(
    installed: bool, version: str, tmp_path: Path
) -> None:
    """As if this Python were another: the front end's package has no C part that fits."""
    python = make_environment(tmp_path / "env", ["msgspec"])
    foreign = tmp_path / "front-end" / "stepper"
    without = shutil.ignore_patterns("_C.*", "__pycache__")
    shutil.copytree(ROOT / "stepper", foreign, ignore=without)
    if installed:
        (site_packages(tmp_path / "env") / "stepper").symlink_to(ROOT / "stepper")
    said = report(python, foreign, tmp_path, version or stepper.__version__)
    if installed and not version:
        assert isinstance(said, Hello)
        assert said.facts.stepper == stepper.__version__
    else:
        assert isinstance(said, Refused)
        own = f"stepper {stepper.__version__} is installed" if installed else "there is none"
        wanted = version or stepper.__version__
        assert f"own stepper {wanted} is not built, and {own} there. Install it:" in said.text
        assert f"{python} -m pip install torch-stepper=={wanted}" in said.text


def test_a_python_that_no_stepper_is_made_for_is_told_so(tmp_path: Path) -> None:
    """As if this Python were older than all that are supported."""
    package = tmp_path / "front-end" / "stepper"
    shutil.copytree(ROOT / "stepper", package, ignore=shutil.ignore_patterns("_C.*", "__pycache__"))
    startup = package / "debuggee" / "startup" / "sitecustomize.py"
    startup.write_text(startup.read_text().replace("((3, 11)", "((3, 15)"))
    said = report(make_environment(tmp_path / "env", []), package, tmp_path, stepper.__version__)
    assert isinstance(said, Refused)
    assert "stepper watches programs of Python 3.15 to 3.14" in said.text


def report(python: Path, package: Path, folder: Path, version: str) -> DebuggeeMessage | None:
    """The first message of a program that a front end of that package and version starts."""
    ours, theirs = socket.socketpair()
    startup = str(package / "debuggee" / "startup")
    told = DebuggeeConfig(
        stepper=version,
        channel=theirs.fileno(),
        recording=str(folder / "run.stepper"),
        path_entry=startup,
    )
    env: dict[str, Any] = {SESSION_VARIABLE: encode_config(told), "PYTHONPATH": startup}
    done = subprocess.run(
        [python, "-c", LOOKS_AROUND],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        pass_fds=[theirs.fileno()],
        check=False,
    )
    theirs.close()
    assert (done.returncode, done.stderr) == (0, "")
    front_end = FrontEnd(ours)
    while front_end.read():
        pass
    ours.close()
    return front_end.events[0] if front_end.events else None


def test_a_session_that_cannot_begin_for_another_reason_says_which(tmp_path: Path) -> None:
    """Whatever it is, in words of one message."""
    package = tmp_path / "front-end" / "stepper"
    shutil.copytree(ROOT / "stepper", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "debuggee" / "start.py").write_text("raise ValueError('ü' * 300)")
    said = report(Path(sys.executable), package, tmp_path, stepper.__version__)
    assert said == Refused("ValueError: " + "ü" * 300)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(said), type=DebuggeeMessage) == said
