"""A front end that a program starts for itself: a child process on the program's terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection

from stepper.debuggee.children import apart


def start_front_end(*words: str, pass_fds: Collection[int] = ()) -> subprocess.Popen[bytes]:
    """Start `stepper WORDS …` with the program's stdin, stdout and stderr.

    Raises:
        OSError: the system refuses.
    """
    with apart():
        return subprocess.Popen(
            [sys.executable, "-m", "stepper", *words], pass_fds=pass_fds, env=_environment()
        )


def _environment() -> dict[str, str]:
    """The program's environment, in which the front end finds this very stepper."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    entries = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entries)}
