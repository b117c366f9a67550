"""Programs of several processes under the debugger, as a front end has them."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

from stepper.analysis.live_processes import LiveProcess, ProcessWatch
from stepper.client.events import OutputArrived, SessionEvent
from stepper.client.launch import LaunchSpec, launch
from stepper.client.processes import Processes
from stepper.client.session import Session
from stepper.model.breakpoint import parse_breakpoint
from tests import ready

SERVER = """
import multiprocessing, os, sys

def serve(requests):
    import torch

    @torch.compile(backend="eager")
    def answer(x):
        return x.sum() + 1

    requests.send("up")
    while (size := requests.recv()):
        requests.send(answer(torch.ones([1] * size)).item())

if __name__ == "__main__":
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    server.start()
    theirs.close()
    print(ours.recv(), flush=True)
    for line in sys.stdin:
        try:
            ours.send(int(line))
            print("answered", int(line), ours.recv(), flush=True)
        except EOFError:
            server.join()
            print("the server ended with", server.exitcode, flush=True)
"""
"""A server that compiles in a child of its own, on request."""

FORKED = """
import os, sys
import torch, torch._dynamo

@torch.compile(backend="eager")
def work(x):
    return x.sin() + 1

def child(reader, number):
    while os.read(reader, 1):
        work(torch.ones(number))
        print("worked", number, flush=True)

writers = []
for number in (2, 3):
    reader, writer = os.pipe()
    if os.fork() == 0:
        for each in (writer, *writers):
            os.close(each)
        child(reader, number)
        os._exit(0)
    writers.append(writer)
print("forked", flush=True)
for line in sys.stdin:
    if line.strip().isdecimal():
        os.write(writers[int(line)], b".")
for writer in writers:
    os.close(writer)
print(sorted(os.wait()[1] for _ in writers), flush=True)
"""
"""Two forked workers that compile on request."""


_AFTER_THE_END = 15.0
"""Seconds in which the system takes away what has ended."""


class Family:
    """A program under the debugger, and what is seen of it."""

    def __init__(self, first: Session) -> None:
        assert first.processes is not None
        self.first = first
        self.processes: Processes = first.processes
        self.output = ""
        self.watch = ProcessWatch(self.processes)
        self.processes.subscribe(self._heard)

    def _heard(self, session: Session, event: SessionEvent) -> None:
        if isinstance(event, OutputArrived):
            self.output += event.text

    def until(self, happened: Callable[[], object], seconds: float = 600.0) -> None:
        """Wait until something is true: not for long when all processes have ended."""
        deadline = time.monotonic() + seconds
        while not happened():
            if not any(session.live for session in self.processes.sessions):
                deadline = min(deadline, time.monotonic() + _AFTER_THE_END)
            assert time.monotonic() < deadline, self._said()
            select.select([], [], [], 0.02)

    def _said(self) -> str:
        status = self.first.exit_status
        ended = "the program is alive" if status is None else f"the program {status.sentence}"
        return "\n".join([f"{ended}, and it never came true. It said:", self.output, *self.texts()])

    def says(self, text: str) -> None:
        """Wait until the program has written something."""
        self.until(lambda: text in self.output)

    def stopped(self) -> Session:
        """Wait until a process stands still, the only one."""
        self.until(lambda: self.processes.standing)
        (session,) = self.processes.standing
        return session

    def go_on(self, session: Session) -> None:
        """Run a process on, and wait until it does."""
        assert session.resume().result().ok
        self.until(lambda: session.stopped is None)

    def break_at(self, *texts: str) -> None:
        """Set these breakpoints and no others; in all processes, when this returns."""
        self.first.set_breakpoints(map(parse_breakpoint, texts))
        for session in self.processes.sessions:
            assert not session.live or session.send_breakpoints().result().ok

    def look(self) -> list[LiveProcess]:
        """What each process does."""
        return self.watch.look(2.0)

    def texts(self) -> list[str]:
        """The same, in lines."""
        return [each.text for each in self.look()]


@contextlib.contextmanager
def family(
    folder: Path,
    program: str,
    *breakpoints: str,
    module: tuple[str, ...] = (),
    entry: bool = False,
    forked: bool = True,
) -> Iterator[Family]:
    """Start a program with its children under the debugger.

    Args:
        folder: where it runs; its recordings are in `session` there.
        program: its text.
        breakpoints: as they are written.
        module: a module that runs it, and that one's arguments; none: Python itself.
        entry: whether to stop where the first of them begins to translate.
        forked: whether it begins as `tests.ready` says, and what `multiprocessing` begins for it.
            How those end nobody is told, for who waits for them has begun others.
    """
    script = folder / "program.py"
    script.write_text(program)
    spec = LaunchSpec(
        kind="module" if module else "script",
        target=module[0] if module else str(script),
        args=(*module[1:], str(script)) if module else (),
        children=True,
        recording=str(folder / "session"),
        breakpoints=tuple(map(parse_breakpoint, breakpoints)),
        stop_at_entry=entry,
    )
    with contextlib.ExitStack() as begun:
        if forked:
            begun.enter_context(ready.forking())
            begun.enter_context(patch.dict(os.environ, PYTHON_EXEC=ready.executable(folder)))
        first = launch(spec)
    try:
        yield Family(first)
    finally:
        first.kill()
        first.close()
