"""Transformed code as Python, by depyf, where that is installed.

A decompiler works on code that it was not made for: it can fail, hang or eat all memory. And depyf
imports torch. So it runs in a process of its own, with the interpreter of the program that is
debugged (bytecode is that of one Python version), which is ended when it takes too long.
"""

from __future__ import annotations

import os
import subprocess
import sys

from stepper.client import decompiler
from stepper.model.cache import EntryCode
from stepper.model.launch import SESSION_VARIABLE

SECONDS = 20.0
"""How long it may take."""
_LENGTH = 500_000

_INSTALL = (
    "depyf is not installed: pip install 'torch-stepper[depyf]' where the program runs, or just "
    "depyf"
)


class DecompilerError(RuntimeError):
    """Raised where no source can be made; the message says why, and what to do."""


def decompile(code: EntryCode, *, seconds: float = SECONDS) -> str:
    """The source of transformed code, as well as it can be told.

    Raises:
        DecompilerError: depyf is missing, failed, or took too long.
    """
    pythons = [code.python]
    if code.version == tuple(sys.version_info[:2]) and sys.executable != code.python:
        pythons.append(sys.executable)
    for python in filter(None, pythons):
        done = _run(python, code.code, seconds)
        if done.returncode == decompiler.NOT_INSTALLED:
            continue
        text = done.stdout.decode(errors="replace").strip()
        if done.returncode == 0 and text:
            return text[:_LENGTH]
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise DecompilerError(f"depyf could not decompile it: {last or 'it said nothing'}")
    raise DecompilerError(_INSTALL)


def _run(python: str, code: bytes, seconds: float) -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in os.environ.items() if name != SESSION_VARIABLE}
    try:
        return subprocess.run(
            # -P: its neighbours are no modules for it.
            [python, "-P", decompiler.__file__, str(seconds)],
            input=code,
            capture_output=True,
            env=env,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DecompilerError(f"depyf was ended: it took more than {seconds:g} s") from None
    except OSError as error:
        raise DecompilerError(f"{python} cannot be started: {error}") from None
