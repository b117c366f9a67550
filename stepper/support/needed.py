"""What stepper needs in the environment of a program, beside torch, and what to say without it.

A program may run in another environment than the debugger (`--python`). Recording it takes
`msgspec`; `bytecode` is for the native engine, and for code that somebody looks at or changes.
"""

from __future__ import annotations

import shlex
import sys

import stepper

_PACKAGES = ("bytecode", "msgspec")


def explain_import(error: BaseException) -> str:
    """Which package an import has missed, and what to do; empty when it was something else."""
    if not isinstance(error, ModuleNotFoundError):
        return ""
    if error.name == "stepper._C":
        version = ".".join(map(str, sys.version_info[:2]))
        return (
            f"{sys.executable} is Python {version}, for which this stepper is not built: "
            f"{shlex.quote(sys.executable)} -m pip install torch-stepper=={stepper.__version__}"
        )
    package = (error.name or "").partition(".")[0]
    if package not in _PACKAGES:
        return ""
    return (
        f"{sys.executable} has no package {package}, which stepper needs in the program's "
        f"environment for this: {shlex.quote(sys.executable)} -m pip install {package}"
    )
