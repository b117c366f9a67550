"""The hooks in the functions by which Python code starts and ends processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stepper import _C

SHOW = [
    sys.executable,
    "-S",
    "-c",
    "import os; print(os.environ.get('ADDED'), 'OWN' in os.environ)",
]


class Heard:
    """What the hooks were called with."""

    def __init__(self) -> None:
        self.environments: list[object] = []
        self.left: list[int] = []
        self.ended: list[tuple[int, int]] = []
        self.forked: list[int] = []

    def environment(self, given: Any) -> object:
        self.environments.append(given)
        if isinstance(given, list):
            return [*given, b"ADDED=1"]
        return {**(os.environ if given is None else given), "ADDED": "1"}

    def child_ended(self, pid: int, status: int) -> None:
        self.ended.append((pid, status))


@pytest.fixture
def heard() -> Iterator[Heard]:
    heard = Heard()
    _C.hook_processes(heard.environment, heard.left.append, heard.child_ended, heard.forked.append)
    yield heard
    _C.hook_processes(lambda given: given, *[lambda *told: None] * 3)


def output(work: Callable[[], object]) -> str:
    """What a call writes to the descriptor of stdout, also in processes that it starts."""
    reader, writer = os.pipe()
    before = os.dup(1)
    os.dup2(writer, 1)
    try:
        work()
    finally:
        os.dup2(before, 1)
        os.close(before)
        os.close(writer)
    with open(reader) as file:
        return file.read()


def forked(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(9)
    return os.waitpid(pid, 0)[1]


def test_a_started_program_gets_what_the_hook_adds(heard: Heard) -> None:
    own = {**os.environ, "OWN": "1"}
    plain = SHOW[0]
    ways: dict[str, tuple[Callable[[], object], bool]] = {
        "subprocess": (lambda: subprocess.run(SHOW, check=True), False),
        "with its environment": (lambda: subprocess.run(SHOW, check=True, env=own), True),
        "posix_spawn": (lambda: os.waitpid(os.posix_spawn(plain, SHOW, own), 0), True),
        "posix_spawnp": (lambda: os.waitpid(os.posix_spawnp(plain, SHOW, own), 0), True),
        "system": (lambda: os.system(subprocess.list2cmdline(SHOW)), False),
        "execv": (lambda: forked(lambda: os.execv(plain, SHOW)), False),
        "execve": (lambda: forked(lambda: os.execve(plain, SHOW, own)), True),
        "spawnv": (lambda: os.spawnv(os.P_WAIT, plain, SHOW), False),
    }
    shown = {name: output(work).split() for name, (work, _) in ways.items()}
    assert shown == {name: ["1", str(has_own)] for name, (_, has_own) in ways.items()}
    assert "ADDED" not in os.environ
    assert os.system('test -z "$OWN"') == 0


def test_the_functions_stay_what_they_are(heard: Heard) -> None:
    hooked = (os.posix_spawn, os._exit, os.waitpid)
    _C.hook_processes(heard.environment, heard.left.append, heard.child_ended, heard.forked.append)
    assert hooked == (os.posix_spawn, os._exit, os.waitpid)
    assert [function.__module__ for function in hooked] == ["posix"] * 3
    subprocess.run(["true"], check=True)
    assert len(heard.environments) == 1  # hooked again, each call is heard once


def test_an_end_is_told(heard: Heard) -> None:
    assert forked(lambda: os._exit(5)) == 5 << 8
    assert heard.ended[-1][1] == 5 << 8
    heard.left.clear()
    told: list[int] = []
    reader, writer = os.pipe()
    _C.hook_processes(
        heard.environment,
        lambda status: os.write(writer, bytes([status])),
        heard.child_ended,
        heard.forked.append,
    )
    forked(lambda: os._exit(6))
    told.extend(os.read(reader, 10))
    os.close(reader)
    os.close(writer)
    assert told == [6]


def test_a_fork_is_told_in_the_parent_when_it_has_come_back(heard: Heard) -> None:
    child = os.fork()
    if child == 0:
        os._exit(len(heard.forked))
    assert heard.forked == [child]
    assert os.waitpid(child, 0)[1] == 0, "the child was told nothing"


def test_what_a_hook_raises_is_nobodys(heard: Heard) -> None:
    def failing(*args: object) -> object:
        raise KeyError(args)

    _C.hook_processes(failing, failing, failing, failing)
    assert output(lambda: subprocess.run(SHOW, check=True)).split() == ["None", "False"]
    assert forked(lambda: os._exit(4)) == 4 << 8


def test_what_the_program_does_wrong_is_its_own_error(heard: Heard) -> None:
    with pytest.raises(FileNotFoundError):
        os.execv("/nowhere/at/all", ["x"])
    assert (
        "ADDED"
        not in subprocess.run(
            ["env", "-i", "sh", "-c", "echo $ADDED"], capture_output=True, text=True, check=True
        ).stdout
    )
    with pytest.raises(TypeError):
        os.posix_spawn(SHOW[0], SHOW, 5)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ChildProcessError):
        os.waitpid(1, 0)


def test_a_tracer_sees_nothing_of_a_hook(heard: Heard) -> None:
    seen: list[str] = []

    def trace(frame: Any, event: str, argument: object) -> None:
        seen.append(frame.f_code.co_name)

    sys.settrace(trace)
    try:
        subprocess.run(["true"], check=True)
    finally:
        sys.settrace(None)
    assert "run" in seen
    assert not {"environment", "child_ended"} & set(seen)
    assert heard.environments
