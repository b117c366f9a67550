"""What stepper needs in the environment of a program, beside torch, and what to say without it.

A program may run in another environment than the debugger (`--python`). Recording it takes
`msgspec`; `bytecode` is for the native engine, and for code that somebody looks at or changes.
"""

from __future__ import annotations

import shlex
import sys

import stepper

PYTHONS = ((3, 11), (3, 14))
"""The oldest and the newest version of Python that stepper is built for."""
_PACKAGES = ("bytecode", "msgspec")


def unsupported() -> str:
    """Why no stepper watches programs of this Python; empty: one does."""
    if "t" in sys.abiflags:
        return f"{sys.executable} is free-threaded, and stepper relies on the GIL"
    if PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]:
        return ""
    version, oldest, newest = (
        ".".join(map(str, each)) for each in (sys.version_info[:2], *PYTHONS)
    )
    return (
        f"{sys.executable} is Python {version}; stepper watches programs of Python {oldest} to "
        f"{newest}"
    )


def explain_import(error: BaseException) -> str:
    """Which package an import has missed, and what to do; empty when it was something else."""
    if not isinstance(error, ModuleNotFoundError):
        return ""
    if error.name == "stepper._C":
        version = ".".join(map(str, sys.version_info[:2]))
        return unsupported() or (
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
