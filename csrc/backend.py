"""How the package is built: by setuptools, after a look for what the C part needs.

Without it a machine that has no compiler gets a page of setuptools' own words.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def missing() -> str:
    """What cannot be found of what building the C part takes, and what to do; empty: nothing."""
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    compiler = shlex.split(command)[0]
    if shutil.which(compiler) is None:
        return (
            f"the C compiler of this Python, {compiler!r}, was not found. Install one (Debian, "
            "Ubuntu: apt install build-essential; Fedora: dnf install gcc), or name yours in the "
            "environment variable CC, and install again."
        )
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return (
            f"the headers of this Python were not found ({header}). Install them (Debian, Ubuntu: "
            f"apt install {version}-dev; Fedora: dnf install {version}-devel), and install again."
        )
    return ""


def _check() -> None:
    if problem := missing():
        raise SystemExit(
            f"\nstepper records in C, and its C part cannot be built here: {problem}\n"
        )


def build_wheel(*arguments: Any, **options: Any) -> str:
    """See PEP 517."""
    _check()
    return str(build_meta.build_wheel(*arguments, **options))


def build_editable(*arguments: Any, **options: Any) -> str:
    """See PEP 660."""
    _check()
    return str(build_meta.build_editable(*arguments, **options))
