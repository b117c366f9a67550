"""The command `stepper` as a shell sees it: exit codes, stderr, what is imported, configuration."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import venv
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from stepper.cli.arguments import build_parser, parse
from stepper.cli.config import Config, ConfigError, load_config
from stepper.cli.examples import EXAMPLES
from tests.recordings import sample_recording

Result = subprocess.CompletedProcess[str]
Run = Callable[..., Result]


@pytest.fixture
def stepper(tmp_path: Path) -> Run:
    """Runs the command in an empty directory, with its state there too."""

    def run(*arguments: object, **options: object) -> Result:
        return subprocess.run(
            [sys.executable, "-m", "stepper", *map(str, arguments)],
            **{  # type: ignore[call-overload]  # any options of its own
                "cwd": tmp_path,
                "env": environment(tmp_path),
                "capture_output": True,
                "text": True,
                "timeout": 120,
                "stdin": subprocess.DEVNULL,
                **options,
            },
        )

    return run


def environment(home: Path, **more: str) -> dict[str, str]:
    root = Path(__file__).resolve().parents[2]
    state = str(home / "state")
    return {**os.environ, "XDG_STATE_HOME": state, "PYTHONPATH": str(root), **more}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "which program?"),
        (["record", "-m"], "-m needs the name of a module"),
        (["record", "missing.py"], "can't open file"),
        (["console", "--break", "nonsense", "x.py"], "'nonsense' is no breakpoint"),
        (["console", "missing.stepper"], "missing.stepper"),
        (["open", "missing.stepper"], "missing.stepper"),
        (["run", "-c", "pass"], "there is no terminal to draw on; use stepper console"),
        (["open"], "no file was named, and there is no recording in"),
        (["record", "--python", "/nowhere", "-c", "pass"], "no python interpreter"),
        (["record", "--python-option=-I", "-c", "pass"], "keeps stepper out"),
        (["record", "-o", "no/where.stepper", "-c", "pass"], "there is no directory"),
        ([], "stepper --help"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(stepper: Run, arguments: list[str], message: str) -> None:
    result = stepper(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_the_version_names_what_matters(stepper: Run) -> None:
    said = stepper("--version").stdout
    assert re.fullmatch(r"stepper \S+ \(Python 3\.\d+\.\d+\S*, torch 2\.\S+, textual \S+\)\n", said)


def test_the_doctor_finds_nothing_wrong_here(stepper: Run) -> None:
    done = stepper("doctor")
    assert done.returncode == 0, done.stdout
    assert "has all that is watched" in done.stdout
    assert "nothing is wrong" in done.stdout


def test_the_doctor_says_what_is_wrong_and_what_to_do(stepper: Run, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True, with_pip=False)
    done = stepper("doctor", "--python", "bare/bin/python", env=environment(tmp_path, CC="no-cc"))
    assert done.returncode == 1
    assert "No module named 'torch'. Name the program's Python with --python" in done.stdout
    assert "1 wrong" in done.stdout


def test_the_doctor_says_that_a_torch_is_too_old(stepper: Run, tmp_path: Path) -> None:
    """Though it has all that is watched: `record` refuses it."""
    python = tmp_path / "python"
    answer = '{"torch": "2.10.1", "oldest": [2, 11], "newest": [2, 15], "lacks": []}'
    python.write_text(f"#!/bin/sh\necho '{answer}'\n")
    python.chmod(0o700)
    done = stepper("doctor", "--python", "./python")
    assert done.returncode == 1
    assert "! it is too old: 2.11 to 2.15 can be watched" in done.stdout


def test_help_names_every_subcommand(stepper: Run) -> None:
    result = stepper("--help")
    assert result.returncode == 0
    for name in ("run", "record", "list", "open", "console"):
        assert f"    {name} " in result.stdout


def test_each_subcommands_help_ends_with_examples_that_can_be_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parser, subparsers = build_parser()
    assert EXAMPLES.keys() == subparsers.keys()
    for name, examples in EXAMPLES.items():
        with pytest.raises(SystemExit):
            parser.parse_args([name, "--help"])
        assert capsys.readouterr().out.endswith("".join(f"  {line}\n" for line in examples))
        for line in examples:
            command = line.removeprefix('eval "$(').removesuffix(')"').partition(" > ")[0]
            _, subcommand, *rest = shlex.split(command)
            assert parse([subcommand, *rest]).subcommand == name


HEAVY = {"torch", "textual", "numpy"}
SLOW = {"json", "subprocess", "email", "difflib", "sqlite3", "asyncio"}
"""Modules that a command which answers at once has no time for."""


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [(["--help"], HEAVY | SLOW), (["console", "-x", "where", "sample.stepper"], HEAVY)],
)
def test_what_a_command_does_not_need_is_not_imported(
    tmp_path: Path, arguments: list[str], unwanted: set[str]
) -> None:
    sample_recording(str(tmp_path / "sample.stepper"))
    code = (
        "import sys, stepper.cli\n"
        f"try:\n    stepper.cli.main({arguments!r})\nexcept SystemExit:\n    pass\n"
        f"print('heavy:', sorted({unwanted!r} & sys.modules.keys()))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.splitlines()[-1] == "heavy: []"


def test_a_folder_that_was_deleted_is_as_good_as_any(stepper: Run, tmp_path: Path) -> None:
    """A shell can stand in one; Python runs a program there."""
    (tmp_path / "program.py").write_text("print('it ran')\n")
    words = 'mkdir gone; cd gone; rmdir ../gone; exec "$0" -m stepper'
    for asked, status, said in (
        (f"record {tmp_path}/program.py", 0, "it ran"),
        ("record program.py", 2, "can't open file 'program.py'"),
        (f"record -o run.stepper {tmp_path}/program.py", 2, "cannot record to run.stepper"),
    ):
        done = subprocess.run(
            ["sh", "-c", f"{words} {asked}", sys.executable],
            cwd=tmp_path,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
        assert said in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("output", "status", "said"),
    [(">&-", 0, ""), ("> /dev/full", 1, "the output cannot be written: No space left")],
)
def test_an_output_that_is_closed_or_full(
    output: str, status: int, said: str, stepper: Run, tmp_path: Path
) -> None:
    command = f'"$0" -m stepper list {output}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable],
        env=environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("code", "expected"),
    [("raise SystemExit(3)", 3), ("import os; os._exit(5)", 5), ("pass", 0), ("1/0", 1)],
)
def test_record_ends_as_the_program_ends(stepper: Run, code: str, expected: int) -> None:
    assert stepper("record", "-o", "r.stepper", "-c", code).returncode == expected


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGSEGV", "SIGINT"])
def test_record_dies_by_the_programs_signal(stepper: Run, name: str) -> None:
    code = (
        f"import os, signal; signal.signal(2, signal.SIG_DFL); os.kill(os.getpid(), signal.{name})"
    )
    result = stepper("record", "-o", "r.stepper", "-c", code)
    assert result.returncode == -getattr(signal, name)


def test_record_leaves_stdio_alone(stepper: Run) -> None:
    code = "import sys; print(sys.stdin.read().upper()); print('oops', file=sys.stderr)"
    result = stepper("record", "-o", "r.stepper", "-c", code, stdin=None, input="text")
    assert result.stdout == "TEXT\n"
    oops, why, closing = result.stderr.splitlines()
    assert oops == "oops"
    assert why == f"stepper: {UNSEEN}"
    assert closing.startswith("stepper: nothing was translated → ")
    assert closing.endswith("/r.stepper")


UNSEEN = "no function was called that `torch.compile` had made, or it was not to be compiled"
OTHERS = "; the program ran other processes, which `stepper record --children` records, too"
CALL = "import torch; torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))"
NOTHING = [
    pytest.param(
        "no function was called that `torch.compile` or `stepper.compile` had made",
        "import torch",
        ["--engine", "native"],
        id="native",
    ),
    pytest.param(
        UNSEEN + OTHERS,
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import json'])",
        [],
        id="children",
    ),
    pytest.param(
        "<lambda> (<string>:1): Dynamo tracing is disabled",
        f"import torch._dynamo; torch._dynamo.config.disable = True; {CALL}",
        [],
        id="disabled",
        marks=pytest.mark.skipif(
            version("torch").startswith("2.11."), reason="this torch does not say why"
        ),
    ),
    pytest.param(
        "Identity: captured by torch.export without strict=True, which runs it and interprets no "
        "bytecode: not recorded; at <string>:1 in <module>",
        "import torch; torch.export.export(torch.nn.Identity(), (torch.ones(2),))",
        [],
        id="export",
    ),
]


@pytest.mark.parametrize(("why", "code", "options"), NOTHING)
def test_why_nothing_was_translated_is_what_happened(
    stepper: Run, why: str, code: str, options: list[str]
) -> None:
    result = stepper("record", *options, "-o", "r.stepper", "-c", code)
    said, closing = result.stderr.splitlines()
    if (
        "--engine" in options
    ):  # no compiler comes, and where torch has CUDA its import runs `ldconfig`
        said = said.removesuffix(OTHERS)
    assert said == f"stepper: {why}"
    assert closing.startswith("stepper: nothing was translated")


def test_a_recording_that_was_cut_short_does_not_say_that_nothing_happened(
    stepper: Run, tmp_path: Path
) -> None:
    stepper("record", "-o", "r.stepper", "-c", "pass")
    with contextlib.closing(sqlite3.connect(tmp_path / "r.stepper")) as database, database:
        database.execute("UPDATE session SET ended = 'the disk is full'")
    said = stepper("post-mortem", "r.stepper").stderr
    assert "no translation is recorded: there is no moment to look at" in said


def test_record_passes_signals_on(tmp_path: Path) -> None:
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(11))\n"
        "print('up', flush=True)\nsignal.pause()"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "stepper", "record", "-o", "r.stepper", "-c", code],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=600) == 11


def test_recordings_go_to_a_private_directory_that_stays_small(
    stepper: Run, tmp_path: Path
) -> None:
    directory = tmp_path / "state" / "stepper" / "recordings"
    directory.mkdir(parents=True)
    sample_recording(str(tmp_path / "sample.stepper"))
    for number in range(25):
        old = directory / f"old{number:02}.stepper"
        shutil.copy(tmp_path / "sample.stepper", old)
        os.utime(old, (number, number))
    stepper("record", "-c", "pass")
    names = sorted(path.name for path in directory.glob("*.stepper"))
    assert len(names) == 20
    assert names[0].startswith("code-2")
    assert names[1] == "old06.stepper"
    assert directory.stat().st_mode & 0o777 == 0o700


def test_the_pid_is_filled_in(stepper: Run, tmp_path: Path) -> None:
    result = stepper("record", "-o", "run-{pid}.stepper", "-c", "import os; print(os.getpid())")
    assert (tmp_path / f"run-{result.stdout.strip()}.stepper").exists()


def test_console_reads_commands_from_a_pipe_and_says_where_the_recording_is(
    stepper: Run, tmp_path: Path
) -> None:
    sample_recording(str(tmp_path / "sample.stepper"))
    result = stepper("console", "sample.stepper", stdin=None, input="s 3\nwhere\n")
    assert result.returncode == 0
    assert "(stepper) s 3\nmoment 4/" in result.stdout
    assert result.stdout.endswith("the recording is in sample.stepper\n")


def test_console_ends_as_the_program_did(stepper: Run) -> None:
    result = stepper(
        "console", "-x", "info", "-o", "r.stepper", "-c", "print('hi'); raise SystemExit(4)"
    )
    assert result.returncode == 4
    assert "| hi\n" in result.stdout
    assert "the program ended with exit code 4" in result.stdout
    assert "nothing was translated" in result.stdout


def test_console_gives_its_stdin_to_the_program_when_commands_come_from_options(
    stepper: Run,
) -> None:
    result = stepper(
        "console", "-x", "i", "-o", "r.stepper", "-c", "print(input().upper())",
        stdin=None, input="words\n",
    )  # fmt: skip
    assert "| WORDS\n" in result.stdout


READS = "import sys\nfor _ in range(3): print(repr(sys.stdin.readline()))\n"


def test_a_program_that_reads_finds_nothing_when_commands_come_from_a_pipe(stepper: Run) -> None:
    result = stepper(
        "console", "-o", "r.stepper", "-c", READS, stdin=None, input="info\nq\n", timeout=600
    )
    assert result.returncode == 0
    assert result.stdout.count("| ''\n") == 3


def test_a_program_that_reads_again_at_the_end_finds_it_again(stepper: Run) -> None:
    result = stepper("console", "-x", "c", "-o", "r.stepper", "-c", READS, stdin=None, input="a\nb")
    assert "| 'a\\n'\n| 'b'\n| ''\n" in result.stdout


@pytest.mark.parametrize("exit", [0, 3])
@pytest.mark.parametrize("piped", [True, False])
def test_a_command_that_fails_in_a_script_is_an_exit_code_and_named(
    stepper: Run, piped: bool, exit: int
) -> None:
    commands = ("info", "bogus", "b nofile:", "q")
    options = [] if piped else [word for each in commands for word in ("-x", each)]
    given = {"stdin": None, "input": "\n".join(commands)} if piped else {}
    result = stepper(
        "console", *options, "-o", "r.stepper", "-c", f"raise SystemExit({exit})", **given
    )
    assert result.returncode == (exit or 1)
    assert "*** unknown command 'bogus'" in result.stdout
    failed = "2 commands could not be carried out: line 2: 'bogus', …\n"
    assert f"stepper console: {failed}" in result.stderr


def test_arguments_after_the_program_are_its_own(stepper: Run, tmp_path: Path) -> None:
    code = "import sys; print(sys.argv)"
    own = ["--break", "-o", "--", "x", "-m", "--bogus", ""]
    result = stepper("record", "-o", "r.stepper", "-c", code, *own)
    assert result.stdout == f"{['-c', *own]}\n"
    script = tmp_path / "script.py"
    script.write_text("import sys; print(sys.argv[1:])")
    assert stepper("record", "--output=r.stepper", script, *own).stdout == f"{own}\n"
    assert stepper("record", "-or.stepper", "--", script, *own).stdout == f"{own}\n"


def test_configuration_comes_from_the_nearest_pyproject(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.stepper]\nbreak = "graph-break"\noutput = "x.stepper"\ndetail = "stops"\n'
    )
    config = load_config(inner)
    assert config.breakpoints == ("graph-break",)
    assert (config.output, config.detail, config.engine) == ("x.stepper", "stops", "dynamo")
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert load_config(inner) == Config()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.stepper]\nbreaks = []\n", "breaks"),
        ("[tool.stepper]\ndetail = 'some'\n", "some"),
        ("[tool.stepper\n", "pyproject.toml"),
    ],
)
def test_a_wrong_configuration_names_file_and_entry(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path)


def test_a_wrong_breakpoint_in_the_configuration_is_a_usage_error(
    stepper: Run, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.stepper]\nbreak = ['what']\n")
    result = stepper("console", "-c", "pass")
    assert result.returncode == 2
    assert "[tool.stepper] break: 'what' is no breakpoint" in result.stderr


@pytest.mark.parametrize("command", [["run", "-c", "pass"], ["open", "sample.stepper"]])
def test_an_unknown_theme_is_a_usage_error(
    stepper: Run, tmp_path: Path, command: list[str]
) -> None:
    sample_recording(str(tmp_path / "sample.stepper"))
    (tmp_path / "pyproject.toml").write_text("[tool.stepper]\ntheme = 'bright'\n")
    result = stepper(*command)
    assert result.returncode == 2
    assert "[tool.stepper]: there is no theme 'bright'. It can be: ansi-dark, " in result.stderr
    assert len(result.stderr.splitlines()) == 1
