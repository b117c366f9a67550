"""A disk that is really full: the recording ends and says so, and the program goes on as if nothing
had been recorded. What was recorded until then can be read."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import ROOT, clean_environment

PROGRAM = """
import contextlib, os, sys
import torch

def f(x, n):
    for i in range(n):
        x = (x + i).sin()
    return x

FULL = os.environ.get("FULL", "")
if "within" in FULL:
    import stepper
    recording = stepper.record(os.path.join(os.environ["DISK"], "r.stepper"))
else:
    recording = contextlib.nullcontext()
with recording:
    for n in range(1, 13):
        torch._dynamo.reset()
        print(n, torch.compile(f, backend="eager")(torch.ones(2), 8 * n).tolist())
        if n == 3 and "later" in FULL:
            other = os.open(os.path.join(os.environ["DISK"], "else"), os.O_CREAT | os.O_WRONLY)
            with contextlib.suppress(OSError):
                while os.write(other, bytes(512)):
                    pass
print("went on", file=sys.stderr)
sys.exit(3)
"""
RUNS = """
import json, os, shutil, subprocess, sys
from tests import ready

for words, size, folder, environment in json.loads(sys.argv[1]):
    disk = os.path.join(folder, "disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk], check=True)
    done = subprocess.run(
        ready.python(*words), capture_output=True, text=True, env=environment, cwd=folder,
    )
    shutil.copytree(disk, os.path.join(folder, "kept"), ignore=shutil.ignore_patterns("else"))
    print(json.dumps([done.returncode, done.stdout, done.stderr]))
"""
UNSHARE = ["unshare", "--map-root-user", "--mount"]


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    mount = [*UNSHARE, "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"]
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="session")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the program prints without stepper."""
    program = tmp_path_factory.mktemp("plain") / "p.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        ready.python(program), capture_output=True, text=True, check=False,
        env=clean_environment(), timeout=600,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    return done.stdout


SIZES = {"at once": "64k", "later": "64m", "soon": "400k"}
CASES = [(how, when) for how in ("record", "within") for when in SIZES]


class Ended(NamedTuple):
    """How the program ended where the disk was full, and what was on that disk."""

    status: int
    out: str
    err: str
    kept: Path


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Ended]:
    """The program in each case: all where a disk may be mounted, which they begin once."""
    runs, folders = [], [tmp_path_factory.mktemp("full") for _ in CASES]
    for (how, when), folder in zip(CASES, folders, strict=True):
        (folder / "p.py").write_text(PROGRAM)
        (folder / "disk").mkdir()
        record = ["-m", "stepper", "record", "-o", str(folder / "disk" / "r.stepper")]
        command = [*(record if how == "record" else ()), str(folder / "p.py")]
        environment = clean_environment() | {"DISK": str(folder / "disk"), "FULL": f"{how} {when}"}
        runs.append((command, SIZES[when], str(folder), environment))
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-c", RUNS, json.dumps(runs)], capture_output=True, text=True,
        check=False, env=clean_environment(), timeout=850,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = map(json.loads, done.stdout.splitlines())
    return {
        case: Ended(status, out, err, folder / "kept")
        for case, folder, (status, out, err) in zip(CASES, folders, told, strict=True)
    }


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="nothing may be mounted here")
@pytest.mark.parametrize(("how", "when"), CASES)
def test_a_full_disk_ends_the_recording_and_not_the_program(
    how: str, when: str, printed: str, ended: dict[tuple[str, str], Ended]
) -> None:
    done = ended[how, when]
    if when == "at once" and how == "within":
        assert "SessionError" in done.err  # it is asked for here, so the program is told
        assert "the disk is full" in done.err
        return
    assert (done.status, done.out) == (3, printed), done.err
    assert done.err.count("disk is full") == 1, done.err
    assert "went on\n" in done.err
    if when == "at once":
        assert not (done.kept / "r.stepper").exists()
        return
    with closing(Recording.open(str(done.kept / "r.stepper"))) as recording:
        assert recording.newest > 100
        assert recording.state(recording.newest).moment.id == recording.newest
        assert recording.translations()[0].name == "f"
        assert "disk is full" in str(recording.ended)
        assert len(recording.translations()) < 12


ENDS = """
import random, subprocess, sys
from contextlib import closing
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer
from tests.tape import FACTS

for seed in range(40):
    some = random.Random(seed)
    size = some.randrange(300, 600)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", sys.argv[1]], check=True)
    writer, values = Writer(sys.argv[1] + "/r.stepper", FACTS), 0
    while not writer.failed:
        for _ in range(some.randrange(1, 30)):
            values += 1
            writer.value(values, some.randbytes(some.randrange(10, 900)))
        writer.flush()
    writer.close()
    with closing(Recording.open(sys.argv[1] + "/r.stepper")) as recording:
        print("disk is full" in str(recording.ended), recording.ended)
    subprocess.run(["umount", sys.argv[1]], check=True)
"""


@pytest.mark.skipif(not can_mount(), reason="nothing may be mounted here")
def test_that_it_was_full_is_noted_however_little_room_was_left(tmp_path: Path) -> None:
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-c", ENDS, str(tmp_path)], capture_output=True, text=True,
        check=False, env=clean_environment() | {"PYTHONPATH": str(ROOT)}, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 40
    assert [line for line in done.stdout.splitlines() if not line.startswith("True ")] == []
