"""The program's threads, asked about without the program noticing."""

from __future__ import annotations

import _thread
import os
import signal
import sys


def main_thread() -> int | None:
    """The main thread's identifier; None while nobody has imported `threading`."""
    threading = sys.modules.get("threading")
    return threading.main_thread().ident if threading is not None else None


def thread_name() -> str:
    """The name of the thread that asks."""
    # Not `threading.current_thread()`: it would make a thread known that the program has not.
    threading = sys.modules.get("threading")
    ident = _thread.get_ident()
    if threading is None:
        return f"thread {ident}"
    main = threading.main_thread()
    if main.ident == ident:
        return str(main.name)
    own = (thread.name for thread in threading.enumerate() if thread.ident == ident)
    return next(own, f"thread {ident}")


def interrupt_program() -> None:
    """What Ctrl-C does; also when the main thread waits in a system call."""
    main = main_thread()
    if main is None:
        os.kill(os.getpid(), signal.SIGINT)
    else:
        signal.pthread_kill(main, signal.SIGINT)
