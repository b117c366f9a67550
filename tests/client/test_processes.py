"""The processes that a program starts, stopped and looked at while they live."""

from __future__ import annotations

import os
import signal
import socket
import stat
from pathlib import Path

import pytest

from stepper.client.processes import Processes
from stepper.client.session import Session
from stepper.model.breakpoint import BreakpointError, parse_breakpoint
from stepper.model.control import Position
from stepper.model.stepping import Motion
from stepper.recording.process_entry import born_at
from stepper.recording.reader import Recording
from stepper.recording.session_folder import SOCKET, read
from tests.client.families import FORKED, SERVER, family

RANKS = """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()

@torch.compile(backend="eager")
def scaled(x):
    return x * 2

for size in (2, 3):
    out = scaled(torch.ones(size))
    if size == 2:
        dist.all_reduce(out)
    else:
        begun = dist.all_reduce(out, async_op=True)
        begun.wait()
os.write(1, f"rank {rank} {out.tolist()}\\n".encode())  # one piece, so that ranks do not mix
dist.destroy_process_group()
"""


def line_of(program: str, text: str) -> int:
    return program.splitlines().index(text) + 1


def is_readable(folder: Path) -> bool:
    """Whether all recordings of a session open, with all their moments."""
    recorded = read(str(folder)).recorded
    for process in recorded:
        recording = Recording.open(process.recording)
        if recording.newest:
            assert recording.state(recording.newest).frames
        recording.close()
    return bool(recorded)


def functions(session: Session) -> list[str]:
    recording = session.recording
    assert recording is not None
    recording.refresh()
    return [each.name for each in recording.translations()]


def functions_now(processes: Processes) -> list[str]:
    answers = [session.locate().result(600).data for session in processes.sessions]
    return [each.function for each in answers if isinstance(each, Position)]


@pytest.mark.slow
def test_a_server_that_compiles_in_a_child_is_stopped_and_stepped_there(tmp_path: Path) -> None:
    with family(tmp_path, SERVER, forked=False) as server:
        server.says("up")
        listens = tmp_path / "session" / SOCKET
        assert stat.S_IMODE(listens.stat().st_mode) == 0o600
        assert stat.S_IMODE(listens.parent.stat().st_mode) == 0o700
        assert server.processes.sessions == [server.first], "one that compiles nothing keeps away"
        assert sum("has not come to the compiler" in text for text in server.texts()) == 2
        # Set after the child has begun.
        server.break_at("function:*answer")
        server.first.write_input("2\n")
        child = server.stopped()
        assert child is not server.first
        assert functions(child) == ["serve.<locals>.answer"]
        assert child.evaluate("inst.opname").result().text == "'RESUME'"
        moment = child.stopped.moment if child.stopped else 0
        assert child.resume(Motion.STEP, count=2).result().ok
        server.until(lambda: child.stopped is not None and child.stopped.moment == moment + 2)
        shown = next(text for text in server.texts() if str(child.pid) in text)
        line = line_of(SERVER, "        return x.sum() + 1")
        assert shown.endswith(f"stopped, step, program.py:{line} in serve.<locals>.answer")
        # One for another process does not stop this one; one for this process does.
        server.break_at(f"function:*answer, process {server.first.pid}")
        server.go_on(child)
        server.says("answered 2 2.0")
        server.first.write_input("3\n")
        server.says("answered 3 2.0")
        server.break_at(f"function:*answer, process {child.pid}")
        server.first.write_input("4\n")
        assert server.stopped() is child
        # Who is killed takes neither the front end nor a recording along.
        os.kill(child.pid, signal.SIGKILL)
        server.says("the server ended with -9")
        server.until(lambda: not child.live)
        assert (server.first.live, child.stopped) == (True, None)
        ended = next(text for text in server.texts() if str(child.pid) in text)
        assert ended.endswith("killed, SIGKILL")
        assert functions(child) == ["serve.<locals>.answer"] * 3
        server.first.write_input("\x04")
        assert server.first.wait(600)
        assert is_readable(tmp_path / "session")
    assert not listens.exists()


@pytest.mark.slow
def test_without_a_breakpoint_the_first_that_compiles_stops_where_it_begins(tmp_path: Path) -> None:
    with family(tmp_path, SERVER, entry=True) as server:
        server.says("up")
        assert not server.processes.standing
        server.first.write_input("2\n")
        child = server.stopped()
        assert child is not server.first
        assert child.stopped is not None
        assert (child.stopped.reason, child.stopped.moment) == ("entry", 1)
        assert any(" SpawnProcess-1 " in text for text in server.texts())
        server.go_on(child)
        server.says("answered 2 2.0")
        server.first.write_input("3\n0\n\x04")
        server.says("answered 3 2.0")
        server.says("the server ended with 0")
        assert server.first.wait(600)


@pytest.mark.slow
def test_forked_processes_are_stopped_and_let_go(tmp_path: Path) -> None:
    with family(tmp_path, FORKED) as forked:
        forked.says("forked")
        forked.until(lambda: len(forked.processes.sessions) == 3)
        # The parent hears us though it has forked, and so do the children that do nothing.
        forked.until(lambda: functions_now(forked.processes) == ["<module>", "child", "child"])
        forked.break_at("entry:work")
        forked.first.write_input("0\n1\n")
        forked.until(lambda: len(forked.processes.standing) == 2)
        one, other = forked.processes.standing
        assert [each.stopped and each.stopped.reason for each in (one, other)] == ["breakpoint"] * 2
        forked.go_on(one)
        forked.says("worked")
        assert forked.processes.standing == [other]
        # The front end is gone: who stood goes on, and nobody is stopped any more.
        forked.processes.close()
        forked.until(lambda: forked.output.count("worked") == 2)
        forked.first.write_input("0\nend\n\x04")
        forked.says("[0, 0]")
        assert forked.first.wait(600)
        assert is_readable(tmp_path / "session")


@pytest.mark.slow
def test_detaching_and_killing_concern_all_processes(tmp_path: Path) -> None:
    with family(tmp_path, FORKED, "function:work") as forked:
        forked.says("forked")
        forked.first.write_input("0\n")
        child = forked.stopped()
        forked.processes.detach()
        forked.says("worked 2")
        forked.first.write_input("1\n")
        forked.says("worked 3")
        forked.until(lambda: not child.live)
        assert forked.first.live
    (tmp_path / "again").mkdir()
    with family(tmp_path / "again", FORKED, "function:work") as forked:
        forked.says("forked")
        forked.first.write_input("1\n")
        child = forked.stopped()
        forked.first.kill()
        assert forked.first.wait(600)
        forked.until(lambda: not any(session.live for session in forked.processes.sessions))
        forked.until(lambda: not born_at(child.pid))
        assert is_readable(tmp_path / "again" / "session")


@pytest.mark.slow
def test_one_rank_is_stopped_and_the_others_wait_for_it(tmp_path: Path) -> None:
    run = ("torch.distributed.run", "--nproc-per-node", "2")
    with family(tmp_path, RANKS, "function:scaled, rank 1", module=run, forked=False) as ranks:
        stopped = ranks.stopped()
        assert ranks.first.breakpoints[0].rank == 1
        line = line_of(RANKS, "        dist.all_reduce(out)")
        waits = f"runs, in all_reduce, program.py:{line} in <module>"
        ranks.until(lambda: any(text.endswith(waits) for text in ranks.texts()))
        (waiting,) = (each for each in ranks.look() if each.entry.rank == 0)
        assert waiting.session is not None
        assert functions(waiting.session) == ["scaled"]
        (standing,) = (each for each in ranks.look() if each.session is stopped)
        assert standing.entry.rank == 1
        assert "stopped, breakpoint 1: function:scaled, rank 1, program.py" in standing.text
        ranks.go_on(stopped)
        assert ranks.stopped() is stopped  # the second size
        # A wait in C has no function of torch.distributed.
        line = line_of(RANKS, "        begun.wait()")
        waits = f"runs, all_reduce 2 of default_pg is not over, program.py:{line} in <module>"
        ranks.until(lambda: any(text.endswith(waits) for text in ranks.texts()))
        ranks.break_at()
        ranks.go_on(stopped)
        assert ranks.first.wait(600)
        for rank in (0, 1):
            assert f"rank {rank} [4.0, 4.0, 4.0]" in ranks.output
        assert [each.exit for each in read(str(tmp_path / "session")).processes] == [0, 0, 0]


def test_who_is_no_process_of_the_program_does_not_disturb_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with family(tmp_path, "print('begun', flush=True); input()") as alone:
        alone.says("begun")
        with socket.socket(socket.AF_UNIX) as stranger:
            monkeypatch.chdir(tmp_path / "session")  # a longer name is none
            stranger.connect(SOCKET)
            stranger.sendall(b"\x00\x00\x00\x02no and no more")
            alone.until(lambda: len(alone.processes.sessions) == 2)
        stranger_seen = alone.processes.sessions[1]
        alone.until(lambda: not stranger_seen.live)
        alone.first.write_input("\n")
        assert alone.first.wait(600)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("graph-break, rank 1", "graph-break, rank 1"),
        ("graph-break, once, rank 1", "graph-break, rank 1, once"),
        (
            "a.py:3, process 12, if x in (1, 2), ignore 3",
            "a.py:3, process 12, if x in (1, 2), ignore 3",
        ),
    ],
)
def test_a_breakpoint_can_name_a_process(written: str, meant: str) -> None:
    assert str(parse_breakpoint(written)) == meant
    assert parse_breakpoint(meant) == parse_breakpoint(written)


def test_a_breakpoint_names_one_process() -> None:
    with pytest.raises(BreakpointError, match="'rank' is said twice"):
        parse_breakpoint("graph-break, rank 1, rank 2")


def test_who_waits_for_a_program_that_has_died_is_told_what_it_said(tmp_path: Path) -> None:
    with family(tmp_path, "raise SystemExit('no such port')") as dead:
        with pytest.raises(AssertionError, match="the program ended with exit code 1") as told:
            dead.says("serving")
        assert "no such port" in str(told.value)
