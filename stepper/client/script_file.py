"""The file of a script that is to be run, as one would type its name after `python`, or instead.

Other tools are put before a whole command: `strace python train.py`, `nsys profile torchrun …`. A
debugger of Python starts the interpreter itself, so of such a command it takes the script. What the
shell finds by PATH can be one, too: `torchrun` and `accelerate` are files of Python's.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from importlib.util import MAGIC_NUMBER

from stepper.support.system import absolute

_INTERPRETER = re.compile(r"(python|pypy)[\d.]*t?\Z")
_LOOKED_AT = 512
"""Bytes at the beginning of a file, in which a program for a processor has a zero."""


class NoScriptError(Exception):
    """There is no such script; the message says what to type."""


def script_file(name: str, folder: str) -> str:
    """What Python is given for a script: the name as it is, or the path of the command that it is.

    Args:
        name: as it was typed; `-` is the standard input.
        folder: the one that the program is started in; empty: the current one.

    Raises:
        NoScriptError: it does not exist, is an interpreter, or is no program in Python.
    """
    if name == "-":
        return name
    path = absolute(os.path.join(folder, name))
    if not os.path.exists(path):
        command = None if os.path.dirname(name) else shutil.which(name)
        if command is None:
            raise NoScriptError(f"can't open file {path!r}: no such file")
        name = path = command
    if _INTERPRETER.match(os.path.basename(name)):
        quoted = shlex.quote(name)
        raise NoScriptError(
            f"{quoted} is an interpreter, which stepper starts itself: leave it out, and begin "
            f"with the script, or -m or -c (--python {quoted} runs it with this one)"
        )
    if not _is_python(path):
        raise NoScriptError(
            f"{path} is no program in Python, and stepper runs no other: "
            "name the one that it starts"
        )
    return name


def _is_python(path: str) -> bool:
    """Whether it can be: of a file that cannot be read Python says why itself."""
    if os.path.isdir(path) or path.endswith((".py", ".pyc", ".pyw")):
        return True
    try:
        with open(path, "rb") as file:
            begin = file.read(_LOOKED_AT)
    except OSError:
        return True
    if begin.startswith((b"PK", MAGIC_NUMBER)):  # an archive, or compiled: Python runs both
        return True
    # Where its path is long, or has a blank, what pip installs has a shell start the interpreter.
    of_others = begin.startswith(b"#!") and b"python" not in b" ".join(begin.split(b"\n")[:2])
    return not of_others and b"\0" not in begin
