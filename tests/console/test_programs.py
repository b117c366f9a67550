"""The console on programs that really compile, from start to reopened recording."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests import ready

ROOT = Path(__file__).resolve().parents[2]
TOY = ROOT / "demos" / "toy_example.py"
PROMPT = r"\(stepper\)"
LOOP = """
import os, time, torch

@torch.compile(backend="eager")
def f(x):
    return x.sin() + 1

f(torch.ones(2))
print("pid", os.getpid(), flush=True)
while True:
    time.sleep(0.01)
"""


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "XDG_STATE_HOME": str(home),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "TERM": "xterm",
        "NO_COLOR": "1",
    }


def console(tmp_path: Path, *arguments: object) -> str:
    result = subprocess.run(
        ready.stepper("console", *arguments),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    failed = re.search(r"^\*\*\* ", result.stdout, re.MULTILINE)
    assert result.returncode == int(failed is not None), result.stderr
    return result.stdout


def commands(*texts: str) -> list[str]:
    return [part for text in texts for part in ("-x", text)]


def typed(tmp_path: Path, *arguments: object) -> pexpect.spawn[str]:
    return pexpect.spawn(
        sys.executable,
        ["-m", "stepper", *map(str, arguments)],
        cwd=str(tmp_path),
        env=environment(tmp_path),
        encoding="utf-8",
        timeout=600,
        dimensions=(40, 160),
    )


def test_the_main_path_and_the_recording_again(tmp_path: Path) -> None:
    walk = commands("bs 10", "where", "stack", "c", "p locals['b']", "q")
    text = console(tmp_path, "-b", "graph-break", *walk, "-o", "toy.stepper", TOY)
    stop, back, where, stack, again, printed, _ = re.split(r"^\(stepper\) .*\n", text, flags=re.M)
    assert stop.startswith("stopped: breakpoint 1: graph-break\n")
    moment = int(re.search(r"moment (\d+)/", stop)[1])  # type: ignore[index]  # it is there
    assert "if b.sum() < 0:" in stop
    assert "  = lt" in stop
    assert back.startswith(f"moment {moment - 10}/{moment}")
    assert "in main\n" in where
    assert "-> " in where
    assert "(translated, " in where
    assert "Tensor" in stack
    assert f"moment {moment}/{moment}" in again
    assert "TensorVariable" in printed
    reopened = console(tmp_path, *commands("to graph-break", "why"), "toy.stepper")
    assert f"graph break at moment {moment}:" in reopened
    assert "if b.sum() < 0:" in reopened


def test_running_to_the_end_and_looking_back(tmp_path: Path) -> None:
    walk = commands("n 3", "r", "c", "frames", "goto 1", "s", "info")
    text = console(tmp_path, *walk, "-o", "toy.stepper", TOY)
    assert text.startswith("stopped: entry\nmoment 1/1")
    assert "| 100 calls, total " in text
    assert "the program ended with exit code 0" in text
    assert len(re.findall(r"toy_example, resumed at \d+ +compiled", text)) == 2
    assert re.search(r"\(stepper\) s\nmoment 2/\d+", text)


@pytest.mark.real_terminal
def test_ctrl_c_while_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    child = typed(tmp_path, "console", "-o", "loop.stepper", "loop.py")
    child.expect(PROMPT)
    child.sendline("c")
    child.expect("pid ")
    child.sendintr()
    child.expect("stopping at the next moment; Ctrl-C again interrupts")
    child.expect(r"it runs loop\.py:\d+ in <module>")
    child.sendintr()
    child.expect(r"killed by SIGINT \(2\)")
    child.expect(PROMPT)
    child.sendline("bs")
    child.expect(r"moment \d+/\d+")
    child.sendline("q")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert child.signalstatus == signal.SIGINT or child.exitstatus == 128 + signal.SIGINT


def test_a_program_killed_at_a_stop_leaves_everything(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    child = typed(tmp_path, "console", "-o", "loop.stepper", "loop.py")
    child.expect(PROMPT)
    child.sendline("s 4")
    child.expect("moment 5/5")
    child.expect(PROMPT)
    child.sendline("i")
    child.expect(r"process +(\d+)")
    os.kill(int(child.match[1]), signal.SIGKILL)
    child.expect(PROMPT)
    child.sendline("s")
    child.expect(r"the program was killed by SIGKILL \(9\)")
    child.sendline("goto 2")
    child.expect("moment 2/5")
    child.sendline("q")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert "moment 5/5" in console(tmp_path, *commands("goto newest"), "loop.stepper")


@pytest.mark.real_terminal
def test_typed_input_goes_to_the_program_while_it_runs(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text("print('hello', input('who? '))\n")
    child = typed(tmp_path, "console", "-o", "ask.stepper", "ask.py")
    child.expect(r"who\? ")
    child.sendline("ann")
    child.expect("hello ann")
    child.expect("ended with exit code 0")
    child.expect(PROMPT)
    child.sendeof()
    child.expect("nothing was translated|the recording is in")
    child.expect(pexpect.EOF)


@pytest.mark.real_terminal
def test_a_typed_line_is_for_whoever_reads_next(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text(
        "import torch\n"
        "f = torch.compile(lambda x: x + 1, backend='eager')\n"
        "first = input()\n"
        "f(torch.ones(2))\n"
        "print('read', first, input(), repr(input()))\n"
    )
    child = typed(tmp_path, "console", "-o", "ask.stepper", "ask.py")
    # All before the program has begun, as where a script types.
    child.send("one\np 6 * 7\nc\ntwo\nthree\ngoto 1\ni\nq\n")
    child.expect("stopped: entry")
    child.expect(r"42\r")
    child.expect("read one two 'three'")
    child.expect("ended with exit code 0")
    child.expect(r"moment 1/\d+")
    child.expect("recorded +")
    child.expect("the recording is in")
    child.expect(pexpect.EOF)


@pytest.mark.real_terminal
def test_an_end_of_file_ends_one_question_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text(
        "import sys\nprint('read', [sys.stdin.readline() for each in range(3)])\n"
    )
    child = typed(tmp_path, "console", "-o", "ask.stepper", "ask.py")
    child.send("one\n\x04three\n")
    child.expect_exact(r"read ['one\n', '', 'three\n']")
    child.expect(PROMPT)
    child.sendeof()
    child.expect(pexpect.EOF)


@pytest.mark.real_terminal
def test_breakpoint_in_a_program_opens_the_console_on_its_terminal(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import stepper, torch\n"
        "@torch.compile(backend='eager')\n"
        "def f(x):\n"
        "    return x.sin() + 1\n"
        "stepper.breakpoint()\n"
        "print(f(torch.zeros(1)).item())\n"
    )
    child = pexpect.spawn(
        sys.executable,
        ["own.py"],
        cwd=str(tmp_path),
        env=environment(tmp_path),
        encoding="utf-8",
        timeout=600,
        dimensions=(40, 160),
    )
    child.expect(PROMPT)
    child.sendline("w")
    child.expect("own.py:")
    child.expect(PROMPT)
    child.sendline("c")
    child.expect("1.0")
    child.expect("the recording is in .*own-")
    child.expect(pexpect.EOF)


TAKEN_AWAY = """
import os, torch

def f(x):
    return x + 1

def g(x):
    return x * 2

torch.compile(f, backend="eager")(torch.ones(2))
print("before")
{what}
torch.compile(g, backend="eager")(torch.ones(2))
print("afterwards")
"""


@pytest.mark.parametrize("what", ["os.rename('r.stepper', 'else')", "os.unlink('r.stepper')"])
def test_a_live_session_goes_on_where_its_recording_does(what: str, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(TAKEN_AWAY.format(what=what))
    walk = commands("b g", "c", "where", "s-", "info", "c", "c", "output", "q")
    text = console(tmp_path, *walk, "-o", "r.stepper", "p.py")
    new = tmp_path / "r-2.stepper"
    assert f"was moved or deleted while it was written; the recording goes on in {new}" in text
    assert "moment 6/6  1/0  g" in text
    assert "moment 5/6  0/0  f" in text, "what came before is there, too"
    assert "could not be recorded" not in text
    assert re.search(rf"^recording +{re.escape(str(new))}$", text, re.MULTILINE)
    assert "10 moments recorded" in text
    assert text.count("before\n") == text.count("afterwards\n") == 2, "printed, and recorded"
    assert text.endswith(f"the recording is in {new}\n")
