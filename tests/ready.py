"""Programs that tests start under the debugger, forked from a Python that has imported torch.

To import torch takes three seconds of processor time, and most tests ask about what comes after.
So a process beside the tests has done that (`ready_python.py`), and another has imported an engine
of ours, too; each program begins in a fork of one: with the arguments, environment, folder, files
and terminal that it would have had. What cannot be had that way (options of Python, variables that
torch reads when it is imported, but for those of its logs) is started as ever, and so is every
program of a test about how programs begin and end: here its parent is not the front end, the
outermost of its frames are those of what it was forked from, and at its end the modules that were
there before it stay whole: to take torch apart takes longer than most programs.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from stepper.client.process import Process, Reads
from tests.ready_python import ENGINES, LOGS, MOST_BYTES, address

ROOT = Path(__file__).resolve().parents[1]

_LATER = (
    "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHON_EXEC", "TORCHELASTIC_",
    "TORCHINDUCTOR_CACHE_DIR", "TORCH_NCCL_", *LOGS,
)  # fmt: skip
"""How variables begin that are read later."""

ENVIRONMENT = "TESTS_ENVIRONMENT"
"""In the environment of what begins a program: the program's, if it is another."""

_spawn = Process.spawn


def stepper(*words: object) -> list[str]:
    """The command `stepper`, whose programs begin so; of these tests."""
    return python("-m", "stepper", *words)


def python(*words: object, forked: bool = True) -> list[str]:
    """The command `python`, which begins so, or as ever; of these tests."""
    if not forked:
        return [sys.executable, *map(str, words)]
    _start()
    return [sys.executable, "-m", "tests.ready_program", *map(str, words)]


def executable(folder: Path) -> str:
    """A file that is Python for who starts programs himself, as torchrun does. In a program that
    has it as `PYTHON_EXEC`, `multiprocessing` does, too."""
    _start()
    begin = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.ready_program import main; "
        f"main({os.getpid()}, sys.argv[1:])"
    )
    path = folder / "python"
    # What is watched is the program, and not what begins it: that does not see its variables.
    path.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-c", begin])} "$@"\n')
    path.chmod(0o755)
    return str(path)


def carrying(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for `python` of which only the program has `env`: what begins in one that
    has a session is the session's program."""
    return {**os.environ, "PYTHONPATH": str(ROOT), ENVIRONMENT: json.dumps(dict(env))}


@contextlib.contextmanager
def forking() -> Iterator[None]:
    """Have the programs of this process begin so."""
    _start()
    use(os.getpid())
    try:
        yield
    finally:
        Process.spawn = _spawn  # type: ignore[method-assign]  # as it was


def use(owner: int, *, bound: bool = False) -> None:
    """Have the programs of this process begin so, by what `owner` has started; if they are bound,
    they are killed when this process ends before them."""

    def spawn(
        argv: list[str],
        env: Mapping[str, str],
        terminal: str | None = None,
        reads: Reads = "terminal",
    ) -> Process:
        forked = _forked(owner, argv, env, terminal, reads, bound)
        return forked or _spawn(argv, env, terminal, reads)

    Process.spawn = spawn  # type: ignore[method-assign]  # for the tests


@cache
def _start() -> None:
    """Start it, once; it ends when this process does, which holds the other end of its input."""
    kept = {name: text for name, text in os.environ.items() if not _matters(name)}
    reads, _holds = os.pipe()
    subprocess.run(
        [sys.executable, "-m", "tests.ready_python", str(os.getpid())],
        env=kept | {"PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)},
        cwd=ROOT, stdin=reads, check=True,
    )  # fmt: skip
    os.close(reads)


def _matters(name: str) -> bool:
    """Whether a variable is read when Python starts or torch is imported, and not only then."""
    return name.startswith(("PYTHON", "TORCH")) and not name.startswith(_LATER)


class _Forked(Process):
    """A program whose parent tells its end."""

    def __init__(self, pid: int, parent: socket.socket, *, leads_group: bool) -> None:
        super().__init__(pid, leads_group=leads_group)
        self._parent = parent

    def reap(self) -> int:
        with self._parent:
            status = int(self._parent.recv(99) or 0)
        with self._lock:
            self.wait_status = status
        self._done.set()
        return status


def _forked(
    owner: int,
    argv: list[str],
    env: Mapping[str, str],
    terminal: str | None,
    reads: Reads,
    bound: bool,
) -> Process | None:
    if not _can_be_forked(argv, env):
        return None
    parent = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if parent.connect_ex(address(owner, _watched_by(env))):
        parent.close()
        return None
    files = [number for number in map(int, os.listdir("/proc/self/fd")) if _is_inherited(number)]
    told = (argv, dict(env), os.getcwd(), terminal, reads, files, bound)
    parent.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_BYTES)
    socket.send_fds(parent, [json.dumps(told).encode()], files)
    return _Forked(int(parent.recv(99)), parent, leads_group=terminal is not None)


def _can_be_forked(argv: list[str], env: Mapping[str, str]) -> bool:
    return (
        os.path.realpath(argv[0]) == os.path.realpath(sys.executable)
        and (argv[1] in ("-c", "-m") or not argv[1].startswith("-"))
        and env.get("PYTHONHASHSEED", "0") == "0"  # where any will do, so does ours
        and not {name for name in env if _matters(name)} - {"PYTHONHASHSEED", "PYTHONPATH"}
    )


def _watched_by(env: Mapping[str, str]) -> str:
    """The engine that this very stepper is to begin there; empty: none that is ready."""
    entry, _, _ = env.get("PYTHONPATH", "").partition(os.pathsep)
    if os.path.basename(entry) != "startup":
        return ""  # where nothing is watched, nothing is imported for it
    from stepper.client.launch import startup_directory
    from stepper.model.launch import SESSION_VARIABLE, decode_config
    from stepper.support.debug_log import VARIABLE

    if entry != startup_directory() or SESSION_VARIABLE not in env or VARIABLE in env:
        return ""
    engine = decode_config(env[SESSION_VARIABLE]).engine
    return engine if engine in ENGINES else ""


def _is_inherited(number: int) -> bool:
    with contextlib.suppress(OSError):
        return os.get_inheritable(number)
    return False
