"""Nothing is lost: however a program or its front end ends, the recording opens and is as full as
it can be, and the program does what it would have done."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from stepper.recording.occupied import process_exists
from stepper.recording.reader import Recording
from tests.real.running import (
    COMPILED,
    ENDLESS,
    SECONDS,
    Outcome,
    console,
    environment,
    look,
    moments,
    record,
    until,
)

RECORD = [sys.executable, "-m", "stepper", "record", "-o", "run.stepper"]


@pytest.mark.parametrize(
    ("ending", "status", "ended"),
    [
        ("import os; os._exit(4)", 4, "ended with exit code 4"),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV, "killed by SIGSEGV (11)"),
        ("import os; os.execv('/bin/true', ['true'])", 0, "ended with exit code 0"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "exit"),
    ],
)
def test_a_sudden_end_leaves_everything(
    tmp_path: Path, ending: str, status: int, ended: str
) -> None:
    outcome = record(tmp_path, "-c", COMPILED + ending, forked=True)
    assert outcome.status == status
    assert "1 translation, " in outcome.err.splitlines()[-1]
    facts = look(tmp_path / "run.stepper")
    assert (facts.ended, facts.functions, facts.unfinished) == (ended, ["f"], [])
    assert facts.moments > 150
    # One file is left, although its writer could not tidy up.
    assert [path.name for path in tmp_path.glob("run.*")] == ["run.stepper"]


ALL_AT_ONCE = """
import os, sys, threading

os.chdir("elsewhere")
sys.excepthook = lambda kind, error, trace: open("hook", "w").write(repr(error))
thread = threading.Thread(target=f, args=(torch.ones(2, 2),))
thread.start()
thread.join()
child = os.fork()
if child == 0:
    torch._dynamo.reset()
    f(torch.ones(3))
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
sys.stdout.close()
sys.stderr.close()
# As daemons do; the compiler itself asks whether stdout is a terminal.
sys.stdout = sys.stderr = open(os.devnull, "w")
f(torch.ones(3, 3, 3))
if len(sys.argv) > 1:
    raise SystemExit(3)
raise ValueError("mine")
"""


@pytest.mark.parametrize(("arguments", "status"), [([], 1), (["quietly"], 3)])
def test_a_program_may_do_anything_to_its_process(
    tmp_path: Path, arguments: list[str], status: int
) -> None:
    """It changes directory, forks, compiles in a thread, closes its output, has a hook."""
    (tmp_path / "elsewhere").mkdir()
    outcome = record(tmp_path, "-c", COMPILED + ALL_AT_ONCE, *arguments)
    assert outcome.status == status, outcome.err
    assert "3 translations, " in outcome.err
    hook = tmp_path / "elsewhere" / "hook"
    assert hook.exists() != bool(arguments)
    assert not hook.exists() or hook.read_text() == "ValueError('mine')"
    facts = look(tmp_path / "run.stepper")
    assert (facts.ended, facts.functions, facts.unfinished) == ("exit", ["f"] * 3, [])


def test_killed_in_the_midst_of_tracing(tmp_path: Path) -> None:
    path = tmp_path / "run.stepper"
    process = subprocess.Popen(
        [*RECORD, "-c", ENDLESS],
        cwd=tmp_path,
        env=environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: moments(path) > 1500)
    seen = moments(path)
    recording = Recording.open(str(path))
    os.kill(recording.facts.pid, signal.SIGKILL)
    recording.close()
    _, err = process.communicate(timeout=600)
    assert process.returncode == -signal.SIGKILL
    assert "1 translation" in err
    facts = look(path)
    assert facts.moments >= seen
    assert facts.ended == "killed by SIGKILL (9)"
    assert (
        f"moment {facts.moments}/" in console(tmp_path, "goto newest", program=["run.stepper"]).out
    )


def test_recording_goes_on_when_its_front_end_is_killed(tmp_path: Path) -> None:
    go_on = "open('ready', 'w').close(); input(); torch._dynamo.reset(); f(torch.ones(3))\n"
    process = subprocess.Popen(
        [*RECORD, "-c", COMPILED + go_on + "print('to the end')"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    until((tmp_path / "ready").exists)
    process.kill()
    process.wait()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("on\n")
    process.stdin.close()
    assert process.stdout.read() == "to the end\n"
    process.stdout.close()
    path = tmp_path / "run.stepper"
    until(lambda: look(path).ended is not None)
    facts = look(path)
    assert (facts.ended, facts.functions, facts.unfinished) == ("exit", ["f", "f"], [])


@pytest.mark.real_terminal
@pytest.mark.parametrize("nohup", [False, True], ids=["hung up", "nohup"])
def test_a_killed_front_end_is_a_closed_terminal(tmp_path: Path, nohup: bool) -> None:
    """What `run` and `console` show is the program's terminal: with them it is hung up. A program
    that does not mind runs on, and is recorded, to its end."""
    # Also where the tests themselves run under nohup.
    handler = "SIG_IGN" if nohup else "SIG_DFL"
    ignore = f"import signal; signal.signal(signal.SIGHUP, signal.{handler})\n"
    # It may come some way before the terminal is closed.
    linger = "" if nohup else "\nimport time; time.sleep(60)\n"
    child = pexpect.spawn(
        sys.executable,
        ["-m", "stepper", "console", "-o", "run.stepper", "-c", ignore + COMPILED + linger],
        cwd=str(tmp_path),
        env=environment(tmp_path),
        encoding="utf-8",
        timeout=600,
    )
    child.expect(r"\(stepper\)")
    child.sendline("s 20")
    child.expect("moment 21/21")
    recording = Recording.open(str(tmp_path / "run.stepper"))
    pid = recording.facts.pid
    recording.close()
    child.kill(signal.SIGKILL)
    child.wait()
    child.close()
    until(lambda: not process_exists(pid))
    facts = look(tmp_path / "run.stepper")
    if nohup:
        assert (facts.ended, facts.unfinished) == ("exit", [])
        assert facts.moments > 150
    else:
        assert facts.ended is None
        assert facts.moments >= 21
    status = console(tmp_path, "info", program=["run.stepper"]).out
    assert ("ended: exit" if nohup else "cut short: the program was killed") in status


def test_ctrl_c_belongs_to_the_program(tmp_path: Path) -> None:
    # Not in input(): an interrupt that comes before it begins to read waits for what is typed.
    code = (
        "import time\n"
        "try:\n    print('ready', flush=True)\n    while True: time.sleep(0.01)\n"
        "except KeyboardInterrupt:\n    print('caught')\n"
    )
    child = pexpect.spawn(
        RECORD[0],
        [*RECORD[1:], "-c", COMPILED + code],
        cwd=str(tmp_path),
        env=environment(tmp_path),
        encoding="utf-8",
        timeout=600,
    )
    child.expect("ready")
    child.sendintr()
    child.expect("caught")
    child.expect("stepper: 1 translation, ")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert child.exitstatus == 0
    assert look(tmp_path / "run.stepper").ended == "exit"


def test_a_full_disk_ends_the_recording_and_not_the_program(tmp_path: Path) -> None:
    room = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
    more = "for n in range(4, 40):\n    f(torch.ones(n)); torch._dynamo.reset()\nprint('done')"
    outcome = record(tmp_path, "-c", room + COMPILED + more, forked=True)
    assert (outcome.status, outcome.out) == (0, "done\n")
    assert "the recording ends here, the program goes on: " in outcome.err
    facts = look(tmp_path / "run.stepper")
    assert facts.moments > 0
    assert facts.ended not in ("exit", None)


TINY = """
mkdir tiny && mount -t tmpfs -o size={size} tmpfs tiny || exit 77
{command}
status=$?
cp tiny/* . 2>/dev/null
exit $status
"""
"""Runs a command in a mount namespace of its own, where `tiny` is a very small file system."""


def on_tiny_disk(directory: Path, size: str, *command: object) -> Outcome:
    line = shlex.join([sys.executable, "-m", "stepper", *map(str, command)])
    script = TINY.format(size=size, command=line)
    try:
        result = subprocess.run(
            ["unshare", "-Urm", "sh", "-c", script],
            cwd=directory, env=environment(directory), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=SECONDS,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("there is no unshare command here")
    if result.returncode == 77 or "unshare:" in result.stderr:
        pytest.skip(f"no file system can be mounted here: {result.stderr.strip()}")
    return Outcome(result.returncode, result.stdout, result.stderr)


MANY = f"""{COMPILED}
for n in range(2, 40):
    torch._dynamo.reset()
    f(torch.ones(n))
print("done")
"""


@pytest.mark.parametrize(("size", "some"), [("8k", False), ("140k", False), ("500k", True)])
def test_a_file_system_without_room_ends_the_recording_and_not_the_program(
    tmp_path: Path, size: str, some: bool
) -> None:
    outcome = on_tiny_disk(tmp_path, size, "record", "-o", "tiny/run.stepper", "-c", MANY)
    assert (outcome.status, outcome.out) == (0, "done\n")
    assert "the disk is full" in outcome.err
    if some:
        assert "the recording ends here, the program goes on: " in outcome.err
        facts = look(tmp_path / "run.stepper")
        assert facts.moments > 0
        assert "the disk is full" in str(facts.ended)


def test_a_session_goes_on_where_nothing_can_be_recorded_any_more(tmp_path: Path) -> None:
    commands = ("-x", "break f", "-x", "c", *("-x", "c") * 20, "-x", "p 6 * 7", "-x", "info")
    outcome = on_tiny_disk(
        tmp_path, "300k", "console", "-o", "tiny/run.stepper", *commands, "-c", MANY
    )
    assert "note: the recording ends here, the program goes on: " in outcome.out
    beyond = outcome.out.partition("the recording ends here")[2]
    assert "which could not be recorded: this is the last one that was" in beyond
    assert "\n42\n" in beyond
    assert look(tmp_path / "run.stepper").moments > 0


def test_megabytes_of_output_are_all_there(tmp_path: Path) -> None:
    code = "for number in range(50_000): print(f'{number:099}')"
    outcome = console(tmp_path, "info", program=["-o", "run.stepper", "-c", code])
    assert outcome.status == 0
    assert outcome.out.count("\n| 0000000") == 50_000 - outcome.out.startswith("| ")
    text = look(tmp_path / "run.stepper").output
    assert len(text.replace("\r", "")) == 5_000_000
    assert text.splitlines()[-1] == f"{49_999:099}"
