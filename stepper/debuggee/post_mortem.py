"""Opening the debugger where a program died in its compiler.

The idea. Post-mortem is a recording that nobody writes any more, so nothing of the dying program
has to be kept alive: its traceback is printed as ever, the recording is closed, and a front end
opens it as a child process on the same terminal, while the program waits in `sys.excepthook`. Its
exit code is what it would have been.

The alternative, to stop live when the exception is raised, would stop at every failure that the
program goes on to handle, too; for that there is the breakpoint `exception`.
"""

from __future__ import annotations

import signal
import sys
from types import TracebackType

from stepper.debuggee import start
from stepper.debuggee.front_end import start_front_end
from stepper.model.printing import say
from stepper.support.exceptions import cause_of
from stepper.uncompiled import keep_out


def install() -> None:
    """Open a front end on this session's recording when the program dies while it compiles; once
    is enough."""
    previous = sys.excepthook
    if getattr(previous, "__module__", None) == __name__:
        return

    def excepthook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        previous(kind, error, traceback)
        if died_compiling(error):
            _open()

    sys.excepthook = excepthook


def died_compiling(error: BaseException) -> bool:
    """Whether an exception came out of the compiler, or was raised from one that did."""
    session = start.current()
    seen: set[int] = set()
    link: BaseException | None = error
    while session is not None and link is not None and id(link) not in seen:
        if session.came_out_of_the_compiler(link):
            return True
        seen.add(id(link))
        link = cause_of(link)
    return False


def _open() -> None:
    session = start.current()
    if session is None:
        return
    session.close()
    show(session.writer.path)


def show(path: str, why: str = "") -> None:
    """Let the user look at a recording where its last compilation failed, until the user leaves.
    To be called on the main thread.

    Args:
        path: of the recording.
        why: what went wrong; empty: what the recording says.
    """
    try:
        front_end = start_front_end("post-mortem", f"--why={why}", path)
    except OSError as error:
        say(f"stepper: cannot open {path}: {error.strerror}", sys.stderr)
        return
    # Ctrl-C is the front end's. Only now: it would inherit an ignored signal.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        front_end.wait()
    finally:
        signal.signal(signal.SIGINT, before)


keep_out()
