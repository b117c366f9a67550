"""One long run in this process: `python -m tests.lifetime.child WAY ROUNDS` prints JSON.

A way is an engine and how it is watched, such as `dynamo:lookups`; see `WAYS`.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import itertools
import json
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from stepper.debuggee import start
from stepper.model.breakpoint import parse_breakpoint
from stepper.model.control import Evaluate, Resume, Stopped
from stepper.model.launch import DebuggeeConfig
from tests.debuggee.harness import FrontEnd
from tests.lifetime import census, programs

RECORDED: dict[str, dict[str, Any]] = {
    "all": {},
    "stops": {"detail": "stops"},
    "everything": {"lookups": True, "execute": True},
}
WAYS = (*RECORDED, "live", "sessions", "toolkit")
"""Recorded in each detail; with breakpoints whose conditions are evaluated, and stops at which
expressions are; in one short session after the other; with entries copied, changed and run."""
_BREAKPOINTS = ("opcode:LOAD_FAST*, if tx is None", "guard, if not guards", "graph-break")


def main(way: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(way, rounds, Path(folder))))


def run(way: str, rounds: int, folder: Path) -> dict[str, census.Census]:
    """What was alive at the middle and at the end of the session, and after it."""
    engine, _, how = way.partition(":")
    for module in _IMPORTED:
        importlib.import_module(module)
    ast.unparse(ast.Pass())  # Python 3.14 imports then what it takes
    compile: Any = torch.compile
    reset = torch._dynamo.reset
    if engine == "native":
        from stepper import native

        compile, reset, programs.cut = native.compile, native.reset, native.graph_break
    runs = programs.iterates(compile)
    found = {}
    with contextlib.ExitStack() as stack:
        if how in ("live", *RECORDED):
            stack.enter_context(_session(engine, how, folder))
        # What comes once is there before anything counts.
        before = 2 * len(programs.PROGRAMS)
        for stage, count in (("", before), ("middle", rounds // 2), ("end", rounds // 2)):
            for _ in range(count):
                with contextlib.ExitStack() as each:
                    if how == "sessions":
                        each.enter_context(_session(engine, "everything", folder))
                    next(runs)
                if how == "toolkit":
                    _handle_entries()
            reset()
            if stage:
                found[stage] = census.take(programs)
    found["after"] = census.take(programs)
    return found


_numbers = itertools.count()

_IMPORTED = (
    "stepper.cache",
    "stepper.debuggee.recorder",
    "stepper.engines.dynamo.engine",
    "stepper.engines.dynamo.changes",
    "stepper.engines.native.engine",
    "stepper.native",
)
"""In each run, so that two of them differ by what they did."""


@contextlib.contextmanager
def _session(engine: str, how: str, folder: Path) -> Iterator[None]:
    config: dict[str, Any] = RECORDED.get(how, {})
    front_end = None
    if how == "live":
        ours, theirs = socket.socketpair()
        front_end = threading.Thread(target=_answer, args=(FrontEnd(ours),))
        front_end.start()
        breakpoints = tuple(map(parse_breakpoint, _BREAKPOINTS))
        config = {"channel": theirs.detach(), "breakpoints": breakpoints, "lookups": True}
    path = folder / f"{next(_numbers)}.stepper"
    session, trouble = start.try_begin(DebuggeeConfig(recording=str(path), engine=engine, **config))
    assert session is not None, trouble
    try:
        yield
    finally:
        session.close()
        assert os.path.getsize(path) > 4096, "nothing was recorded"
        if front_end is not None:
            front_end.join()


def _answer(front_end: FrontEnd) -> None:
    """Evaluate something at each stop, and have the program go on, until the session ends."""
    stops = 0
    while front_end.read():
        while front_end.events:
            if isinstance(front_end.events.pop(0), Stopped):
                stops += 1
                front_end.send(lambda seq: Evaluate(seq, "kept = (tx, stack, locals, graph)"))
                front_end.send(lambda seq: Evaluate(seq, "[tx, stack, locals]"))
                front_end.send(Resume)
    front_end.socket.close()
    assert stops, "it never stopped"


def _handle_entries() -> None:
    """Copy the newest entries, run and change the copies, and put one into the cache."""
    from stepper import cache

    for entry in cache.list()[-2:]:
        with contextlib.suppress(cache.CacheError):
            copy = cache.clone(entry, add="True")
            cache.edit(copy, lambda text: text)
            cache.register(copy)
            cache.remove(copy)
            cache.remove(copy)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
