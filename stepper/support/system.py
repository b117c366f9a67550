"""What a system may lack, for the commands that read recordings.

Programs are watched on Linux. A recording is read wherever Python runs, thus also on Windows, which
has no owners of files, no links to be wary of, and changes the ends of lines in files that are not
opened as bytes.
"""

from __future__ import annotations

import os

READ = os.O_RDONLY
"""How a file that somebody else made is opened: not by a link, without waiting for a writer."""
for _name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"):
    READ |= getattr(os, _name, 0)


def user() -> int:
    """The number of this user, as the files that are made here have it."""
    return os.getuid() if hasattr(os, "getuid") else 0


def here() -> str:
    """The current directory; empty: it has been deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def absolute(path: str) -> str:
    """A path from the current directory, as `os.path.abspath` has it where there is one."""
    return os.path.normpath(os.path.join(here(), path))
