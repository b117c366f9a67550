"""Advice is tried on the program itself, run again, and compilations are counted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.recompile_trials import RecompileTrials
from stepper.analysis.replays import AS_IT_IS
from stepper.client.plan import ReplayError, plan_of
from stepper.client.replay import replayed
from stepper.model.trace import SessionFacts
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer
from tests.analysis.conftest import Recorded
from tests.conftest import ROOT, clean_environment

PROGRAM = """
import sys
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 10

    def forward(self, x):
        self.calls += 1
        return x * self.calls

@torch.compile(backend="eager")
def grows(x):
    return x * 2

@torch.compile(backend="eager")
def modes(x, mode):
    return x + len(mode)

torch.manual_seed(0)
net = torch.compile(Net(), backend="eager")
for size in (4, 5, 6, 7):
    grows(torch.ones(size))
    net(torch.ones(2))
    modes(torch.ones(2), "m" * size)
print(sys.argv[1:], sys.stdin.read())
"""


def told(recording: Recording, function: str, seconds: float = 60.0) -> list[str]:
    """What came of each trial, without times."""
    trials = RecompileTrials(recording, plan_of(recording), seconds)
    lines = recompile_lines(recording, function, trying=trials.lines)
    texts = [line.text[2:] for line in lines if line.text.startswith("  ")]
    since = next(at for at, text in enumerate(texts) if OUTCOME.match(text))
    until = next(at for at, text in enumerate(texts) if at > since and AFTER.match(text))
    return [re.sub(r" \([\d.]+ s\)$", "", text) for text in texts[since:until]]


OUTCOME = re.compile("proven|no help|not advised|failed|not tried|run again")
AFTER = re.compile(r"advice, not proven: |\d+/\d+ ")
SAME = "the output and the exit code are the same"


def test_what_is_proven_is_a_patch(recorded: Recorded, program: Callable[[str], str]) -> None:
    path = program(PROGRAM)
    name = path.lstrip("/")
    recording = recorded(path)
    assert told(recording, "grows") == [
        f"proven: torch._dynamo.mark_dynamic(x, 0) before the calls: 2 compilations → 1; {SAME}",
        f"  --- a/{name}",
        f"  +++ b/{name}",
        "  @@ -23,5 +23,7 @@",
        '   net = torch.compile(Net(), backend="eager")',
        "   for size in (4, 5, 6, 7):",
        "  -    grows(torch.ones(size))",
        "  +    x = torch.ones(size)",
        "  +    torch._dynamo.mark_dynamic(x, 0)",
        "  +    grows(x)",
        "       net(torch.ones(2))",
        '       modes(torch.ones(2), "m" * size)',
        f"proven, too: torch.compile(dynamic=True): 2 compilations → 1; {SAME}",
    ]
    assert Path(path).read_text() == PROGRAM, "only a copy was changed"
    assert told(recording, "forward")[0] == (
        f"proven: self.calls in a tensor where it is set: 4 compilations → 1; {SAME}"
    )
    assert told(recording, "modes") == ["not tried: no change is known that could be tried"]


TWO_THINGS = """
import torch

class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.calls

counts = torch.compile(Counts(), backend="eager", dynamic=False)
for size in (4, 5, 6):
    counts(torch.ones(size))
"""


def test_what_differs_at_once_is_changed_at_once(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    best, *others = told(recorded(program(TWO_THINGS), "--lookups"), "forward")
    assert best == (
        "proven: torch._dynamo.mark_dynamic(x, 0) before the calls; self.calls in a tensor where "
        "it is set: 3 compilations → 1; it prints nothing that could be compared"
    )
    assert (
        "no help: torch._dynamo.mark_dynamic(x, 0) before the calls: 3 compilations → 3" in others
    )


FAILS = """
import torch

@torch.compile(backend="eager", dynamic=False)
def needs(x):
    return x * len(list(range(x.shape[0])))

for size in (4, 5):
    needs(torch.ones(size))
"""


def test_a_change_with_which_the_program_fails_says_how(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    first = told(recorded(program(FAILS)), "needs")[-1]
    assert re.match(
        r"failed: torch\._dynamo\.mark_dynamic\(x, 0\) before the calls: it fails: \w+: \w.*",
        first,
    )
    assert "^^^" not in first


SLOW = """
import os, time, torch

@torch.compile(backend="eager", dynamic=False)
def slow(x):
    return x + 1

slow(torch.ones(2)), slow(torch.ones(3))
if os.path.exists("slowly"):
    open("pid", "w").write(str(os.getpid()))
    time.sleep(600)
"""


def test_a_run_that_takes_too_long_is_killed(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(SLOW))
    flag = Path(recording.facts.cwd, "slowly")
    flag.touch()
    try:
        # Until it is enough to come where it sleeps, however slow the machine is.
        for seconds in (6, 24, 96, 384):
            with replayed(plan_of(recording), (), seconds=seconds) as (again, trouble):
                assert trouble == f"it was killed after {seconds} s"
                if len(again.translations()) == 2:
                    break
        else:
            pytest.fail("it never came where it sleeps")
    finally:
        flag.unlink()


KILLED = """
import os, signal, torch
if os.path.exists("out of memory"):
    os.kill(os.getpid(), signal.SIGKILL)
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
"""


def test_a_run_that_somebody_else_killed_is_no_verdict(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(KILLED))
    flag = Path(recording.facts.cwd, "out of memory")
    flag.touch()
    try:
        with pytest.raises(ReplayError, match="killed by SIGKILL from outside"):
            RecompileTrials(recording, plan_of(recording), 60.0).after(AS_IT_IS)
    finally:
        flag.unlink()


def test_ctrl_c_kills_the_program(tmp_path: Path, program: Callable[[str], str]) -> None:
    path = program(SLOW)
    command = [sys.executable, "-m", "stepper"]
    how = {"cwd": tmp_path, "env": clean_environment() | {"PYTHONPATH": str(ROOT)}}
    subprocess.run([*command, "record", "-o", "r.stepper", path], check=True, timeout=600, **how)  # type: ignore[call-overload]  # any options of its own
    (tmp_path / "slowly").touch()
    asking = subprocess.Popen(
        [*command, "why-recompile", "r.stepper", "--replay", "--yes"],
        stdout=subprocess.DEVNULL,
        **how,  # type: ignore[call-overload]  # any options of its own
    )
    pid = tmp_path / "pid"
    _until(lambda: pid.exists() and pid.read_text() != "")
    asking.send_signal(signal.SIGINT)
    assert asking.wait(600) == 130
    _until(lambda: not Path("/proc", pid.read_text()).exists())


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_program_that_is_not_the_recorded_one_is_refused(
    tmp_path: Path, recorded: Recorded, program: Callable[[str], str]
) -> None:
    path = program("import torch\ntorch.compile(lambda x: x, backend='eager')(torch.ones(2))\n")
    recording = recorded(path)
    assert plan_of(recording).files == (path,)
    os.utime(path, (time.time() + 100,) * 2)
    with pytest.raises(ReplayError, match=r"program\.py has changed since: record"):
        plan_of(recording)
    os.remove(path)
    with pytest.raises(ReplayError, match=r"program\.py is gone"):
        plan_of(recording)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (SessionFacts(), "does not hold the program's command line"),
        (SessionFacts(argv=("python", "x.py")), "opened this recording itself"),
        (SessionFacts(argv=("python", "x.py"), launched=True, rank=1), "rank 1 of several"),
        (SessionFacts(argv=("python", "x.py"), launched=True, cwd="/no/such"), "is gone"),
        (SessionFacts(argv=("python", "-X", "dev", "-"), launched=True, cwd="/"), "standard input"),
    ],
)
def test_what_cannot_be_run_again_is_refused(facts: SessionFacts, why: str, tmp_path: Path) -> None:
    path = str(tmp_path / "r.stepper")
    Writer(path, facts).close("exit")
    recording = Recording.open(path)
    try:
        with pytest.raises(ReplayError, match=why):
            plan_of(recording, trust=True)
    finally:
        recording.close()
