"""That a program waits for its input is known from the kernel, and not guessed from its silence."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.client.terminal import PseudoTerminal
from stepper.client.waiting import reads_terminal, waits_for_input
from tests.debuggee.harness import until

told = pytest.mark.skipif(
    not Path("/proc/self/syscall").exists() or os.uname().machine not in ("x86_64", "aarch64"),
    reason="the kernel does not say what a process waits for",
)


@contextlib.contextmanager
def on_terminal(asks: str) -> Iterator[tuple[subprocess.Popen[bytes], int, str]]:
    """A program on a terminal: our end of that, and its name."""
    ours, its = os.openpty()
    program = subprocess.Popen(
        [sys.executable, "-S", "-c", asks], stdin=its, stdout=its, start_new_session=True
    )
    try:
        yield program, ours, os.ttyname(its)
    finally:
        program.kill()
        program.wait()
        os.close(ours)
        os.close(its)


@told
@pytest.mark.parametrize("asks", ["input()", "import readline; input()"])
def test_a_program_that_reads_its_terminal_waits_for_input(asks: str) -> None:
    with on_terminal(asks) as (program, ours, _):
        until(lambda: waits_for_input(program.pid))
        os.write(ours, b"yes\n")
        assert program.wait() == 0
        assert not waits_for_input(program.pid), "it is over"


@told
@pytest.mark.parametrize(
    "asks",
    [
        "import getpass, os; os.open(os.ttyname(0), os.O_RDWR); getpass.getpass()",
        "import subprocess; subprocess.run(['sh', '-c', 'read x'])",
        "import threading; threading.Thread(target=input).start()",
        "import select; select.select([0], [], []); input()",
        "import select; p = select.poll(); p.register(0); p.register(0, 1); p.poll(); input()",
        "import select; p = select.epoll(); p.register(0, 1); p.poll(); input()",
    ],
)
def test_whatever_of_a_program_reads_its_terminal_is_found(asks: str) -> None:
    with on_terminal(asks) as (program, ours, terminal):
        until(lambda: reads_terminal(program.pid, terminal) is True)
        os.write(ours, b"yes\n")
        assert program.wait() == 0


@told
def test_a_program_that_sleeps_reads_nothing() -> None:
    asks = "print('x', flush=True); import time; time.sleep(60)"
    with on_terminal(asks) as (program, ours, terminal):
        os.read(ours, 1)
        assert reads_terminal(program.pid, terminal) is False


def test_a_program_that_waits_for_something_else_does_not() -> None:
    asks = "import select; print('x', flush=True); select.select([1], [], [1])"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", f"{asks}; import time; time.sleep(60)"],
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        assert not waits_for_input(program.pid)
        program.kill()


def test_a_line_that_is_just_typed_is_not_read_yet() -> None:
    terminal = PseudoTerminal(echo=False)
    its = os.open(terminal.name, os.O_RDONLY | os.O_NOCTTY)
    try:
        for _ in range(500):  # of as many some were not counted, before the kernel had moved them
            terminal.write("x\n")
            assert terminal.unread == 2
            assert os.read(its, 10) == b"x\n"
            assert terminal.unread == 0
    finally:
        os.close(its)
        terminal.close()
