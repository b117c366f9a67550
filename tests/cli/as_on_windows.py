"""Hides what Python has on Linux and not on Windows, as the `sitecustomize` of an environment.

What the standard library does here with some of it was imported before, and goes on to work.
"""

import os
import select
import signal
import sys
from importlib import import_module

USE_IT = (
    "asyncio", "concurrent.futures.process", "multiprocessing.context", "shutil", "socket",
    "subprocess", "tempfile",
)  # fmt: skip
MODULES = ("fcntl", "termios", "resource", "tty", "pty", "pwd", "grp", "readline", "curses")
NAMES = {
    os: """
        O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK WEXITSTATUS WIFEXITED WIFSIGNALED
        WTERMSIG chown fchown fork forkpty geteuid getpgid getuid killpg mkfifo openpty pipe2
        posix_spawn pread register_at_fork sched_getaffinity setsid statvfs sysconf tcgetpgrp
        ttyname uname waitid
    """,
    signal: "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGWINCH alarm",
    select: "epoll poll",
}  # fmt: skip

for module in USE_IT:
    import_module(module)
# Python 3.13 would start all programs so.
sys.modules["subprocess"]._USE_POSIX_SPAWN = False  # type: ignore[attr-defined]  # no stub has it
for module in MODULES:
    sys.modules[module] = None  # type: ignore[assignment]  # so an import of it fails
for holder, names in NAMES.items():
    for name in names.split():
        delattr(holder, name)
