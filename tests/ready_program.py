"""`python` for tests: the program begins as `tests.ready` says, and this ends as it does."""

from __future__ import annotations

import os
import signal
import sys

from stepper.client.process import Process
from tests.ready import use

if __name__ == "__main__":
    use(os.getppid())
    status = Process.spawn([sys.executable, *sys.argv[1:]], os.environ).reap()
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.waitstatus_to_exitcode(status))
