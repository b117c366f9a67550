"""Ending as the program ended: with its exit code, or by its signal."""

from __future__ import annotations

import os
import signal
import sys

from stepper.client.status import ExitStatus


def end_as(status: ExitStatus | None) -> int:
    """The exit code to return for a program's end. For a signal, this process ends by the same
    signal, so that a shell or a CI system sees what it would have seen without us."""
    if status is None:
        return 0
    if status.signal is None:
        return status.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        import resource

        # The core that matters is the program's.
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        if status.signal not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(status.signal, signal.SIG_DFL)
        os.kill(os.getpid(), status.signal)
    except (OSError, ValueError):
        pass
    return status.shell_code
