"""The program as a process of ours: started, signalled, reaped.

`posix_spawn` and not `fork`: the front end has threads, and a forked Python child of a threaded
parent may hang. A child that is made a session leader and then opens the pseudo-terminal gets it as
its controlling terminal and is its foreground process group, so Ctrl-C typed into the terminal
becomes SIGINT as in any shell.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

Reads = Literal["terminal", "ours", "nothing"]
"""What a program under a pseudo-terminal has as its standard input: the pseudo-terminal, our own
standard input, or nothing, however often it asks."""

# Python ignores these at start-up; a child must not inherit that.
_RESTORED = [
    getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ", "SIGXFZ") if hasattr(signal, name)
]


class Process:
    """A child process. A thread of its own waits for its end and calls `on_exit` there."""

    def __init__(self, pid: int, *, leads_group: bool) -> None:
        self.pid = pid
        self.wait_status: int | None = None
        self._leads_group = leads_group
        self._lock = threading.Lock()
        self._done = threading.Event()

    @classmethod
    def spawn(
        cls,
        argv: list[str],
        env: Mapping[str, str],
        terminal: str | None = None,
        reads: Reads = "terminal",
    ) -> Process:
        """Start `argv[0]`, under the pseudo-terminal named `terminal` or with our own stdio.

        Raises:
            OSError: it cannot be started.
        """
        if terminal is None:
            pid = os.posix_spawn(argv[0], argv, env, setsigdef=_RESTORED)
            return cls(pid, leads_group=False)
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_OPEN, 1, terminal, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        if reads == "terminal":
            actions.append((os.POSIX_SPAWN_DUP2, 1, 0))
        elif reads == "nothing":
            actions.append((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
        pid = os.posix_spawn(
            argv[0],
            argv,
            env,
            file_actions=actions,
            setsid=True,
            # A front end started in the background ignores SIGINT; the program must not.
            setsigdef=[*_RESTORED, signal.SIGINT, signal.SIGQUIT],
        )
        return cls(pid, leads_group=True)

    def watch(self, on_exit: Callable[[], None]) -> None:
        """Reap it in the background; call `on_exit` on that thread when it has ended."""

        def wait() -> None:
            self.reap()
            on_exit()

        threading.Thread(target=wait, name="stepper-wait", daemon=True).start()

    def reap(self) -> int:
        """Wait for its end; return what `os.waitpid` said."""
        try:
            # WNOWAIT leaves the zombie, so that the number cannot be reused while `send_signal`
            # may still look at it.
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            with self._lock:
                _, self.wait_status = os.waitpid(self.pid, 0)
        except ChildProcessError:
            # Somebody else in this process reaped it; its status is lost.
            self.wait_status = 0
        self._done.set()
        assert self.wait_status is not None
        return self.wait_status

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has been reaped (see `watch`); False when the time was over first."""
        return self._done.wait(timeout)

    def send_signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to it, or to its whole process group; nothing when it has ended."""
        with self._lock:
            if self.wait_status is not None:
                return
            try:
                if group and self._leads_group:
                    os.killpg(self.pid, number)
                else:
                    os.kill(self.pid, number)
            except ProcessLookupError:
                return
