"""The debugger from inside a program: `breakpoint()` and the others of `stepper`.

Under `stepper run` these speak to the session that is there. Without one, `breakpoint` and `debug`
start a line-mode front end on this terminal, as a child process at the other end of a socketpair:
the program is the same process as before, and the front end cannot be in its way.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from stepper.debuggee import post_mortem, start
from stepper.debuggee.front_end import start_front_end
from stepper.model.breakpoint import Breakpoint, BreakpointKind
from stepper.model.launch import DebuggeeConfig
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.recording.writer import Writer

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


def record(
    path: str | os.PathLike[str],
    *,
    engine: str = "dynamo",
    detail: str = "all",
    lookups: bool = False,
    execute: bool = False,
    secrets: bool = False,
) -> Recording:
    """Record what is compiled inside the `with` block into a file.

    `{pid}` and `{rank}` in `path` are filled in. A recording that exists is replaced. `engine`,
    `detail`, `lookups`, `execute` and `secrets` are as on the command line: which compiler, with
    lookups guard by guard, with what transformed code does, with values of environment variables
    and what looks like a key.
    Inside a session (`stepper run`, `stepper record`) that session goes on recording, and no second
    file is made.

    Raises:
        SessionError: the recording cannot be created, or there is no such engine. (When the block
        begins.)
    """
    return Recording(
        DebuggeeConfig(
            recording=os.fspath(path),
            engine=engine,
            detail=detail,
            lookups=lookups,
            execute=execute,
            secrets=secrets,
        )
    )


class Recording(contextlib.ContextDecorator):
    """What `record` returns, for `with` or as a decorator."""

    # No generator: contextlib would call it, in functions that Dynamo is free to compile.

    def __init__(self, config: DebuggeeConfig) -> None:
        self._config = config
        self._begun: list[start.Debuggee | None] = []
        """A session for each block that runs, from the outermost on; None: there was one."""
        self._writer: Writer | None = None

    @property
    def path(self) -> str:
        """Where the recording is: as `path` was filled in, or another name beside it when the file
        was moved or deleted meanwhile, or where the session records that was there already."""
        return self._config.recording if self._writer is None else self._writer.path

    def __repr__(self) -> str:
        return f"<stepper recording {self.path!r}>"

    def __enter__(self) -> Self:
        if (running := start.current()) is not None:
            running.controller.notice(
                f"stepper.record({self._config.recording!r}) makes no file inside a session, "
                f"which records to {running.writer.path}"
            )
            self._begun.append(None)
        else:
            running = _begin(self._config)
            self._begun.append(running)
        self._writer = running.writer
        return self

    def __exit__(self, *error: object) -> None:
        if (session := self._begun.pop()) is not None:
            session.close()


_MOST_WRAPPERS = 20
"""One around the other, before what they wrap; an object may say that it wraps itself."""


def debug(function: Callable[P, T]) -> Callable[P, T]:
    """Stop when `function` is translated the next time; begin a session when there is none.

    Works as a decorator, also under `torch.compile`, and as a call: `stepper.debug(f)`. Returns
    `function` itself.

    Raises:
        SessionError: see `breakpoint`.
    """
    inner: object = function
    # What `torch.compile` returns, and other wrappers, lead to what is translated.
    for _ in range(_MOST_WRAPPERS):
        wrapper = inner
        if isinstance(wrapper, functools.partial):
            inner = wrapper.func
        else:
            inner = getattr(wrapper, "__wrapped__", getattr(wrapper, "_orig_mod", wrapper))
        if inner is wrapper:
            break
    called = "forward" if hasattr(type(inner), "forward") else "__call__"
    name = getattr(inner, "__qualname__", None) or f"{type(inner).__qualname__}.{called}"
    session = start.current() or _begin_on_terminal()
    session.controller.add_breakpoint(Breakpoint(BreakpointKind.FUNCTION, pattern=name, once=True))
    return function


def set_excepthook() -> None:
    """Open the debugger when the program dies while it compiles, where the compilation failed.

    Records from here on, unless a session does already, and replaces `sys.excepthook` by a function
    that calls the one before first. Then the recording opens on this terminal, on the full screen
    or line by line, when the exception came out of the compiler (`BackendCompilerFailed`,
    `Unsupported` with `fullgraph`, `InternalTorchDynamoError` …) or was raised from one that did.
    A session that a front end watches is left to that.

    Raises:
        SessionError: nothing can be recorded, or this is IPython, which tells itself what a cell
        raises and asks no hook.
    """
    if hasattr(builtins, "get_ipython"):  # it puts that there while it runs a cell
        raise SessionError(
            "IPython tells itself what a cell raises, and asks no sys.excepthook. "
            "Use `with stepper.record(path):`, then `stepper why-failed path`"
        )
    session = start.current() or _begin(DebuggeeConfig(recording=_temporary_recording()))
    if not session.controller.listens:
        post_mortem.install()


def _begin(config: DebuggeeConfig) -> start.Debuggee:
    session, trouble = start.try_begin(config)
    if session is None:
        raise SessionError(trouble)
    return session


def _begin_on_terminal() -> start.Debuggee:
    if not (sys.__stdin__ is not None and sys.__stdin__.isatty()):
        raise SessionError(
            "there is no terminal to ask you on. "
            "Run the program with `stepper run`, or use `with stepper.record(path):`"
        )
    ours, theirs = socket.socketpair()
    with theirs:
        descriptor = theirs.fileno()
        start_front_end("console", "--attach-fd", str(descriptor), pass_fds=[descriptor])
    return _begin(DebuggeeConfig(recording=_temporary_recording(), channel=ours.detach()))


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


keep_out()
