"""A disk that is really full: the recording ends and says so, and the program goes on as if nothing
had been recorded. What was recorded until then can be read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

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
MOUNTED = """
mount -t tmpfs -o size=$SIZE none "$DISK" || exit 77
"$@"
status=$?
rm -f "$DISK/else"
cp -r "$DISK/." "$KEPT"
exit $status
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


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="nothing may be mounted here")
@pytest.mark.parametrize("how", ["record", "within"])
@pytest.mark.parametrize("when", ["at once", "later", "soon"])
def test_a_full_disk_ends_the_recording_and_not_the_program(
    how: str, when: str, printed: str, tmp_path: Path
) -> None:
    program = tmp_path / "p.py"
    program.write_text(PROGRAM)
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    environment = clean_environment() | {
        "DISK": str(disk), "KEPT": str(kept), "PYTHONPATH": str(ROOT), "FULL": f"{how} {when}",
        "SIZE": {"at once": "64k", "later": "64m", "soon": "400k"}[when],
    }  # fmt: skip
    command = [sys.executable]
    if how == "record":
        command += ["-m", "stepper", "record", "-o", str(disk / "r.stepper")]
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", MOUNTED, "sh", *command, str(program)], capture_output=True,
        text=True, check=False, env=environment, cwd=tmp_path, timeout=600,
    )  # fmt: skip
    if when == "at once" and how == "within":
        assert "SessionError" in done.stderr  # it is asked for here, so the program is told
        assert "the disk is full" in done.stderr
        return
    assert (done.returncode, done.stdout) == (3, printed), done.stderr
    assert done.stderr.count("disk is full") == 1, done.stderr
    assert "went on\n" in done.stderr
    if when == "at once":
        assert not (kept / "r.stepper").exists()
        return
    with closing(Recording.open(str(kept / "r.stepper"))) as recording:
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
