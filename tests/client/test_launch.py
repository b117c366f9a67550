"""A program under stepper runs as it would under python, and its end is told as it was.

None of these programs imports torch: what is tested is the process and its terminal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.client.launch import LaunchError, LaunchSpec, launch
from stepper.client.session import Session
from tests.client.watching import Watch, start


@pytest.fixture(autouse=True)
def close_sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test leaves a program behind."""
    made: list[Session] = []
    original = Session.__init__

    def remember(self: Session, **options: object) -> None:
        original(self, **options)  # type: ignore[arg-type]  # any options of its own
        made.append(self)

    monkeypatch.setattr(Session, "__init__", remember)
    yield
    for session in made:
        session.close()


def finish(watch: Watch) -> tuple[int | None, str]:
    """The exit code and the whole output."""
    status = watch.until_ended().status
    return status.code, watch.output.replace("\r\n", "\n")


def test_arguments_main_module_and_path_are_those_of_python(tmp_path: Path) -> None:
    code = (
        "import sys, os, threading\n"
        "print(sys.argv[1:], __name__, __file__ == sys.argv[0], len(threading.enumerate()))\n"
        "print(sys.path[0] == os.path.dirname(__file__), 'stepper' in str(sys.path[1:2]))\n"
        "print([name for name in os.environ if name.startswith('STEPPER')])\n"
        "print(sys.stdin.isatty(), sys.stdout.isatty(), sys._getframe().f_back)\n"
    )
    status, output = finish(start(tmp_path, code, "one", "--two", ""))
    assert status == 0
    assert output.splitlines() == [
        "['one', '--two', ''] __main__ True 1",
        "True False",
        "[]",
        "True True None",
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(7)", 7),
        ("import sys; sys.exit('no such thing')", 1),
        ("import os; os._exit(9)", 9),
        ("1 / 0", 1),
        ("import sys; sys.excepthook = lambda *a: print('mine'); 1 / 0", 1),
        ("import os; os.close(1); os.close(2)", 0),
        ("import os, sys; os.chdir('/'); sys.stdout.close()", 0),
    ],
)
def test_the_exit_code_is_the_programs(tmp_path: Path, code: str, expected: int) -> None:
    status = start(tmp_path, code).until_ended().status
    assert (status.code, status.signal) == (expected, None)
    assert status.text.startswith(f"ended with exit code {expected}")


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGTERM"])
def test_a_death_by_signal_is_told_by_name(tmp_path: Path, name: str) -> None:
    code = (
        f"import os, signal\nprint('last words', flush=True)\nos.kill(os.getpid(), signal.{name})"
    )
    watch = start(tmp_path, code)
    status = watch.until_ended().status
    number = getattr(signal, name)
    assert status.signal == number
    assert status.text.startswith(f"killed by {name} ({int(number)})")
    assert status.shell_code == 128 + number
    assert "last words" in watch.output, "the output is drained before the end is told"


def test_killed_from_outside(tmp_path: Path) -> None:
    watch = start(tmp_path, "import time\nprint('up', flush=True)\ntime.sleep(60)")
    watch.until_output("up")
    watch.session.kill()
    assert watch.until_ended().status.signal == signal.SIGKILL
    assert not watch.session.live
    response = watch.session.pause().result(timeout=600)
    assert not response.ok
    assert "killed by SIGKILL" in response.text


def test_input_is_echoed_and_read(tmp_path: Path) -> None:
    watch = start(
        tmp_path, "print('hello', input('who? '))\nprint(repr(__import__('sys').stdin.read()))"
    )
    watch.until_output("who? ")
    watch.session.write_input("ann\n")
    watch.until_output("hello ann\r\n")
    watch.session.write_input("rest\n\x04")
    ended, output = finish(watch)
    assert ended == 0
    assert output == "who? ann\nhello ann\nrest\n'rest\\n'\n"


def test_much_input_does_not_block(tmp_path: Path) -> None:
    code = "import sys\nprint('up', flush=True)\nprint(sum(len(line) for line in sys.stdin))"
    watch = start(tmp_path, code, echo=False)
    watch.until_output("up")
    watch.session.write_input(("x" * 99 + "\n") * 5000 + "\x04")
    _, output = finish(watch)
    assert output.split() == ["up", "500000"]


def test_ctrl_c_typed_is_a_keyboard_interrupt(tmp_path: Path) -> None:
    code = (
        "import time\n"
        "try:\n    print('up', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('caught')\n"
    )
    watch = start(tmp_path, code)
    watch.until_output("up")
    watch.session.interrupt()
    ended, output = finish(watch)
    assert ended == 0
    assert "caught" in output


def test_uncaught_ctrl_c_ends_by_sigint(tmp_path: Path) -> None:
    watch = start(tmp_path, "import time\nprint('up', flush=True)\ntime.sleep(60)")
    watch.until_output("up")
    watch.session.write_input("\x03")
    assert watch.until_ended().status.signal == signal.SIGINT


def test_the_window_follows(tmp_path: Path) -> None:
    code = (
        "import os, signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n"
        "print(tuple(os.get_terminal_size()), flush=True)\n"
        "signal.sigwait([signal.SIGWINCH])\n"
        "print(tuple(os.get_terminal_size()))\n"
    )
    watch = start(tmp_path, code, rows=30, cols=100)
    watch.until_output("(100, 30)")
    watch.session.resize(40, 120)
    _, output = finish(watch)
    assert output.split("\n")[1] == "(120, 40)"


def test_a_child_left_behind_does_not_hold_up_the_end(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', "
        "'import time, signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); time.sleep(20)'])\n"
        "print('parent done')\n"
    )
    ended, output = finish(start(tmp_path, code))
    assert ended == 0
    assert "parent done" in output


def test_modules_and_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__main__.py").write_text("import sys; print(__package__, sys.argv[1:])")
    spec = LaunchSpec(kind="module", target="pack", args=("-x",), recording="m.stepper")
    assert finish(Watch(launch(spec))) == (0, "pack ['-x']\n")
    spec = LaunchSpec(
        kind="code", target="import sys; print(sys.argv)", args=("a",), recording="c.stepper"
    )
    assert finish(Watch(launch(spec))) == (0, "['-c', 'a']\n")


def test_python_options_reach_python(tmp_path: Path) -> None:
    _, output = finish(start(tmp_path, "print(__debug__)", python_options=("-O",)))
    assert output == "False\n"


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    def refused(**options: object) -> str:
        with pytest.raises(LaunchError) as caught:
            launch(LaunchSpec(**{"recording": str(tmp_path / "r"), **options}))  # type: ignore[arg-type]  # any options of its own
        return str(caught.value)

    script = tmp_path / "there.py"
    script.write_text("")
    foreign = tmp_path / "notes.txt"
    foreign.write_text("mine")
    assert "can't open file" in refused(target=str(tmp_path / "missing.py"))
    assert "no python interpreter" in refused(target=str(script), python="/nowhere/python")
    assert "-I" in refused(target=str(script), python_options=("-I",))
    assert "-Es" in refused(target=str(script), python_options=("-Es",))
    assert "no directory" in refused(target=str(script), recording=str(tmp_path / "no" / "r"))
    assert "is no recording" in refused(target=str(script), recording=str(foreign))
    assert "no engine called 'steam'" in refused(target=str(script), engine="steam")
    assert foreign.read_text() == "mine"


def test_programs_children_inherit_nothing_of_ours(tmp_path: Path) -> None:
    listing = "import os; print(len(os.listdir('/proc/self/fd')))"
    code = (
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, '-Ic', {listing!r}], close_fds=False)\n"
    )
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    script = tmp_path / "plain.py"
    script.write_text(code)
    plain = subprocess.run(
        [sys.executable, script], close_fds=False, capture_output=True, text=True, check=True
    )
    _, output = finish(start(tmp_path, code))
    assert output == plain.stdout


def test_with_our_own_stdio(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    watch = start(tmp_path, "print('straight through')", capture_output=False)
    assert watch.until_ended().status.code == 0
    assert capfd.readouterr().out == "straight through\n"


def test_an_interpreter_that_ignores_us_is_explained(tmp_path: Path) -> None:
    wrapper = tmp_path / "isolated-python"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -I "$@"\n')
    wrapper.chmod(0o755)
    watch = start(tmp_path, "print('alone')", python=str(wrapper))
    status = watch.until_ended().status
    assert status.code == 0
    assert "never reported to the debugger" in status.text
    assert watch.session.recording is None
