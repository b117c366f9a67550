"""A child of each kind, stopped, stepped, looked at and killed while it lives."""

from __future__ import annotations

import contextlib
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from stepper.client.session import Session
from stepper.model.stepping import Motion
from stepper.recording.process_entry import born_at
from stepper.recording.reader import Recording
from stepper.recording.session_folder import Process, read
from tests.client.families import Family, family

KINDS = """
import multiprocessing, subprocess, sys
from concurrent.futures import ProcessPoolExecutor

def work_twice(*_):
    import torch
    for number in (2, 3):
        @torch.compile(backend="eager")
        def work(x):
            return x * number
        work(torch.ones(2))

class Items:
    def __len__(self):
        return 1
    def __getitem__(self, number):
        work_twice()

if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        sys.exit(work_twice())
    import torch, torch._dynamo, torch.multiprocessing
    from torch.utils.data import DataLoader

    fork, spawn = map(multiprocessing.get_context, ("fork", "spawn"))
    batches = iter(DataLoader(Items(), num_workers=1, multiprocessing_context=fork))
    pool = fork.Pool(1)
    executor = ProcessPoolExecutor(1, mp_context=fork)
    fork.Process(target=work_twice, name="forked").start()
    waiting = pool.apply_async(work_twice), executor.submit(work_twice)
    multiprocessing.get_context("forkserver").Process(target=work_twice, name="served").start()
    spawn.Process(target=work_twice, name="spawned").start()
    subprocess.Popen([sys.executable, __file__, "child"])
    torch.multiprocessing.start_processes(work_twice, nprocs=1, join=False, start_method="spawn")
    print("started", flush=True)
    sys.stdin.read()
"""
"""Starts a child of each kind that compiles twice."""

CHILDREN = 8
LINE = KINDS.splitlines().index("            return x * number") + 1


def stop_in_each(program: Family, stops: int) -> list[Session]:
    """Wait until each child stands for the first or second time."""
    program.until(lambda: len(program.processes.standing) == CHILDREN)
    standing = program.processes.standing
    for session in standing:
        recording = session.recording
        assert recording is not None
        recording.refresh()
        assert len(recording.translations()) == stops
    return standing


def stands_at(session: Session, moment: int) -> bool:
    return session.stopped is not None and session.stopped.moment == moment


def is_gone(session: Session) -> bool:
    return not session.live and not born_at(session.pid)


def entry_of(folder: Path, session: Session) -> Process:
    return next(each for each in read(str(folder)).processes if each.pid == session.pid)


@pytest.mark.slow
def test_a_child_of_each_kind_is_stopped_and_leaves_its_recording_when_it_is_killed(
    tmp_path: Path,
) -> None:
    with family(tmp_path, KINDS, "function:*work") as program:
        program.says("started")
        children = stop_in_each(program, 1)
        assert program.first not in children
        for child in children:
            moment = child.stopped.moment if child.stopped else 0
            assert child.resume(Motion.STEP).result().ok
            program.until(partial(stands_at, child, moment + 1))
            text = next(text for text in program.texts() if text.startswith(f"{child.pid} "))
            assert text.endswith(f"stopped, step, program.py:{LINE} in work_twice.<locals>.work")
            program.go_on(child)
        assert stop_in_each(program, 2) == children
        folder = tmp_path / "session"
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
            program.until(partial(is_gone, child))
            ended = entry_of(folder, child)
            assert ended.state in ("killed", "gone")  # as its parent waits for it, or not
            with contextlib.closing(Recording.open(ended.recording)) as recording:
                assert [each.name for each in recording.translations()] == [
                    "work_twice.<locals>.work"
                ] * 2
                assert recording.state(recording.newest).frames
        names = sorted(entry_of(folder, child).name for child in children)
        first, *rest = names
        assert first == "", "the one that subprocess has started"
        kinds = ["ForkPoolWorker", "ForkProcess", "ForkProcess", "SpawnProcess"]
        assert [name.partition("-")[0] for name in rest] == [*kinds, "forked", "served", "spawned"]
        with contextlib.suppress(ProcessLookupError):
            # What waits for the DataLoader's worker may have ended the program: torch raises then.
            os.kill(program.first.pid, signal.SIGKILL)
        program.until(lambda: not program.first.live)
        for process in read(str(folder)).recorded:
            Recording.open(process.recording).close()
