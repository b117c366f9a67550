"""`python` for tests: the program begins as `tests.ready` says, and this ends as it does. That is
`stepper` itself when it is to be run: then its programs begin so.

What this is sent the program is sent, and when this is killed so is the program."""

from __future__ import annotations

import json
import os
import signal
import sys

from stepper.client.process import Process
from tests.ready import ENVIRONMENT, use

_SAID = {"-u": "PYTHONUNBUFFERED", "-B": "PYTHONDONTWRITEBYTECODE"}
"""The options that a variable says as well."""


def main(owner: int, words: list[str]) -> None:
    """Run Python with these words, by what `owner` has started."""
    while words[0] in _SAID:
        os.environ[_SAID[words[0]]], *words = "1", *words[1:]
    if words[:2] == ["-m", "stepper"]:
        from stepper.cli import main as run_stepper

        use(owner)
        sys.argv[1:] = words[2:]
        sys.exit(run_stepper())
    use(owner, bound=True)
    env = json.loads(os.environ.get(ENVIRONMENT, "null")) or {**os.environ}
    program = Process.spawn([sys.executable, *words], env)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: program.send_signal(number))
    status = program.reap()
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(os.getppid(), sys.argv[1:])
