"""The debugger from inside a program: `breakpoint()`, `record()` and `debug()` of `stepper`.

Under `stepper run` these speak to the session that is there. Without one, `breakpoint` and `debug`
start a line-mode front end on this terminal, as a child process at the other end of a socketpair:
the program is the same process as before, and the front end cannot be in its way.
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from stepper.debuggee import start
from stepper.model.breakpoint import Breakpoint, BreakpointKind
from stepper.model.launch import DebuggeeConfig

P = ParamSpec("P")
T = TypeVar("T")


class SessionError(RuntimeError):
    """A session cannot begin here; the message says why and what to do."""


def stop_soon() -> None:
    """Stop at the next moment; begin a session when there is none.

    Raises:
        SessionError: there is no terminal to debug on, or nowhere to record to.
    """
    session = start.current() or _begin_on_terminal()
    session.controller.request_stop("breakpoint()")


@contextlib.contextmanager
def record(
    path: str | os.PathLike[str],
    *,
    detail: str = "all",
    lookups: bool = False,
    execute: bool = False,
) -> Iterator[None]:
    """Record what is compiled inside the `with` block into a file.

    `{pid}` and `{rank}` in `path` are filled in. A recording that exists is replaced. `detail`,
    `lookups` and `execute` are as on the command line: with lookups guard by guard, with what
    transformed code does. Inside a session (`stepper run`, `stepper record`) that session goes on
    recording, and no second file is made.

    Raises:
        SessionError: the recording cannot be created.
    """
    if (running := start.current()) is not None:
        running.controller.notice(
            f"stepper.record({os.fspath(path)!r}) makes no file inside a session, "
            f"which records to {running.writer.path}"
        )
        yield
        return
    session = _begin(
        DebuggeeConfig(recording=os.fspath(path), detail=detail, lookups=lookups, execute=execute)
    )
    try:
        yield
    finally:
        session.close()


def debug(function: Callable[P, T]) -> Callable[P, T]:
    """Stop when `function` is translated the next time; begin a session when there is none.

    Works as a decorator, also under `torch.compile`, and as a call: `stepper.debug(f)`. Returns
    `function` itself.

    Raises:
        SessionError: see `breakpoint`.
    """
    inner: object = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    # What `torch.compile` returns, and other wrappers, lead to what is translated.
    inner = getattr(inner, "__wrapped__", getattr(inner, "_orig_mod", inner))
    name = getattr(inner, "__qualname__", None) or f"{type(inner).__qualname__}.forward"
    session = start.current() or _begin_on_terminal()
    session.controller.add_breakpoint(Breakpoint(BreakpointKind.FUNCTION, pattern=name, once=True))
    return function


def _begin(config: DebuggeeConfig) -> start.Debuggee:
    session, trouble = start.try_begin(config)
    if session is None:
        raise SessionError(trouble)
    return session


def _begin_on_terminal() -> start.Debuggee:
    if not (sys.__stdin__ is not None and sys.__stdin__.isatty()):
        raise SessionError(
            "stepper.breakpoint() has no terminal to ask you on. "
            "Run the program with `stepper run`, or use `with stepper.record(path):`"
        )
    ours, theirs = socket.socketpair()
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", "stepper", "console", "--attach-fd", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=_front_end_environment(),
        )
    return _begin(DebuggeeConfig(recording=_temporary_recording(), channel=ours.detach()))


def _front_end_environment() -> dict[str, str]:
    """The program's environment, in which the front end finds this very stepper."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    entries = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entries)}


def _temporary_recording() -> str:
    try:
        directory = os.path.join(_state_directory(), "stepper", "recordings")
        os.makedirs(directory, mode=0o700, exist_ok=True)
    except OSError:
        directory = tempfile.mkdtemp(prefix="stepper-")
    stem = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
    stamp = f"{os.getpid()}-{os.urandom(3).hex()}"
    return os.path.join(directory, f"{stem or 'program'}-{stamp}.stepper")


def _state_directory() -> str:
    state = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(state):
        return state
    return os.path.join(os.path.expanduser("~"), ".local", "state")
