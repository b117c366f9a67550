"""The world around a session: locales, terminals, pipes, names of files, options of Python."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pexpect
import pytest

from stepper.recording.reader import Recording
from tests.real.running import COMPILED, console, environment, look, record, run
from tests.recordings import sample_recording

NO_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    "surroundings",
    [{"LC_ALL": "C"}, NO_UTF8, {"PYTHONIOENCODING": "ascii"}, {"TERM": "dumb"}, {"NO_COLOR": "1"}],
    ids=lambda given: " ".join(map("=".join, given.items())),
)
def test_the_console_works_in_any_locale(tmp_path: Path, surroundings: dict[str, str]) -> None:
    sample_recording(str(tmp_path / "süß name.stepper"))
    env = environment(tmp_path, **surroundings)
    outcome = console(tmp_path, "goto 3", "stack", "graph", program=["süß name.stepper"], env=env)
    assert outcome.status == 0, outcome.err
    assert "moment 3/" in outcome.out
    assert "the recording is in s" in outcome.out
    assert "\x1b" not in outcome.out


def test_a_reader_that_has_had_enough_is_no_error(tmp_path: Path) -> None:
    sample_recording(str(tmp_path / "sample.stepper"))
    process = subprocess.Popen(
        [sys.executable, "-m", "stepper", "console", "-x", "w", "-x", "w", "sample.stepper"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=600)
    assert err == ""


@pytest.mark.real_terminal
@pytest.mark.parametrize(
    ("surroundings", "advice"),
    [
        ({"TERM": "dumb"}, "use stepper console"),
        (NO_UTF8 | {"TERM": "xterm"}, "set LANG=C.UTF-8 or PYTHONUTF8=1, or use stepper console"),
    ],
)
def test_a_terminal_that_cannot_be_drawn_on_is_told_apart(
    tmp_path: Path, surroundings: dict[str, str], advice: str
) -> None:
    sample_recording(str(tmp_path / "sample.stepper"))
    child = pexpect.spawn(
        sys.executable,
        ["-m", "stepper", "open", "sample.stepper"],
        cwd=str(tmp_path),
        env=environment(tmp_path, **surroundings),
        encoding="utf-8",
        timeout=600,
        dimensions=(24, 200),
    )
    child.expect_exact(advice)
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert child.exitstatus == 2


@pytest.mark.real_terminal
def test_a_tiny_terminal_is_enough_to_look_and_to_leave(tmp_path: Path) -> None:
    sample_recording(str(tmp_path / "sample.stepper"))
    child = pexpect.spawn(
        sys.executable,
        ["-m", "stepper", "open", "sample.stepper"],
        cwd=str(tmp_path),
        env=environment(tmp_path, TERM="xterm-256color"),
        encoding="utf-8",
        timeout=600,
        dimensions=(5, 20),
    )
    child.expect("Enter")  # at its home, where each key of the moments' screen leads there
    child.send("s")
    child.expect("source")
    child.send("Sq")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert child.exitstatus == 0


@pytest.mark.parametrize("command", ["open", "console"])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("foreign", "is not a recording of stepper"),
        ("cut short", "this recording is damaged"),
        ("newer", "was made by a newer stepper"),
        ("empty", "is empty"),
    ],
)
def test_what_cannot_be_opened_is_one_line(
    tmp_path: Path, command: str, kind: str, message: str
) -> None:
    path = tmp_path / "file.stepper"
    sample_recording(str(path))
    whole = path.read_bytes()
    version = (99).to_bytes(4, "big")
    path.write_bytes(
        {
            "foreign": b"precious",
            "cut short": whole[:5000],
            "newer": whole[:60] + version + whole[64:],
            "empty": b"",
        }[kind]
    )
    content = path.read_bytes()
    outcome = run(["-m", "stepper", command, "file.stepper"], tmp_path)
    assert outcome.status == 2
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert path.read_bytes() == content


def test_a_file_of_the_user_is_never_recorded_over(tmp_path: Path) -> None:
    (tmp_path / "run.stepper").write_text("precious")
    outcome = record(tmp_path, "-c", "print('ran')")
    assert (outcome.status, outcome.out) == (2, "")
    assert "it exists and is no recording" in outcome.err
    assert (tmp_path / "run.stepper").read_text() == "precious"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a directory like Linux's /proc")
def test_where_no_file_can_be_made_the_program_runs_and_the_reason_is_said(tmp_path: Path) -> None:
    command = ["-m", "stepper", "record", "-o", "/proc/run.stepper", "-c", "print('ran')"]
    outcome = run(command, tmp_path)
    if outcome.status == 2:  # not even allowed to try, being nobody special
        assert "no permission to write into /proc" in outcome.err
    else:
        assert (outcome.status, outcome.out) == (0, "ran\n")
        assert "the recording cannot be created" in outcome.err
    homeless = environment(tmp_path, XDG_STATE_HOME="/proc")
    outcome = run(["-m", "stepper", "record", "-c", "pass"], tmp_path, env=homeless)
    assert outcome.status == 2
    assert "Choose a file with -o FILE" in outcome.err


@pytest.mark.parametrize(
    ("doing", "what"),
    [
        # Python 3.13.0 by itself does not find what a module lacks in a folder that is gone.
        ("os.chdir('/'); shutil.rmtree(folder)", "moved or deleted while it was written"),
        ("os.truncate('run.stepper', 0)", "is damaged"),
    ],
    ids=["deleted", "truncated"],
)
def test_a_recording_that_the_program_destroys_is_not_called_none(
    tmp_path: Path, doing: str, what: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    before = f"{COMPILED}\nimport os, shutil\nfolder = os.getcwd()"
    outcome = record(folder, "-c", f"{before}\n{doing}\nf(torch.ones(9))", forked=True)
    assert outcome.status == 0, outcome.err
    assert what in outcome.err
    assert "the recording cannot be read: " in outcome.err
    assert "nothing recorded" not in outcome.err
    assert "Traceback" not in outcome.err


def test_sessions_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stepper", "record", "-c", "print(input())"]
    processes = [
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for number, process in enumerate(processes):
        out, _ = process.communicate(f"{number}\n", timeout=600)
        assert (process.returncode, out) == (0, f"{number}\n")
    made = list((tmp_path / "state/stepper/recordings").iterdir())
    assert [look(path).ended for path in made] == ["exit", "exit"]


def test_options_of_python_reach_it(tmp_path: Path) -> None:
    options = ["--python-option=-O", "--python-option=-Xdev", "--python-option=-Wignore"]
    code = (
        "import sys, os; print(sys.flags.optimize, sys.flags.dev_mode, os.environ['PYTHONSTARTUP'])"
    )
    env = environment(tmp_path, PYTHONSTARTUP="/nowhere/rc.py")
    outcome = record(tmp_path, *options, "-c", code, env=env)
    assert outcome.out == "1 True /nowhere/rc.py\n"


def test_modules_of_a_package_import_each_other(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "other.py").write_text("VALUE = 4\n")
    (package / "entry.py").write_text("from .other import VALUE\nprint(VALUE, __package__)\n")
    assert record(tmp_path, "-m", "package.entry").out == "4 package\n"


def test_another_environment_is_used_or_the_reason_is_said(tmp_path: Path) -> None:
    """One without stepper and what it needs cannot be recorded; its program runs all the same."""
    venv.create(tmp_path / "env", symlinks=True, with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    outcome = record(tmp_path, "--python", python, "-c", "import sys; print(sys.prefix)")
    assert (outcome.status, outcome.out) == (0, f"{tmp_path / 'env'}\n")
    assert f"nothing recorded: {python} has no package msgspec" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_script_that_is_gone_or_changed_is_shown_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "my söripts"
    folder.mkdir()
    script = folder / "a script.py"
    script.write_text(COMPILED + "import os; os.rename(__file__, 'moved.py')\n")
    outcome = record(tmp_path, script, forked=True)
    assert outcome.status == 0, outcome.err
    script.write_text("# another program\n" * 20)
    shown = console(tmp_path, "goto 20", "list", program=["run.stepper"]).out
    assert "x = x.sin() + step" in shown
    assert "another program" not in shown
    recording = Recording.open(str(tmp_path / "run.stepper"))
    assert recording.code(1).filename == str(script)
    recording.close()
