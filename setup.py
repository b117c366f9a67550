"""What a static pyproject.toml cannot say: the C part, and the README as a package index shows it.

Every file of `csrc/` belongs to the C part, so that none can be forgotten. A release is compiled
without -Werror: a compiler of the future may warn about what is harmless. Whoever works on stepper
sets STEPPER_WERROR (the Makefile does). With STEPPER_READER there is no C part: that wheel is for
any system, and reads recordings only.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import sysconfig
import tomllib
from glob import glob
from pathlib import Path
from typing import Any
from zlib import crc32

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Setuptools wants paths that are relative to this file, and is always started beside it.
SOURCES = sorted(glob("csrc/**/*.c", recursive=True))
HEADERS = sorted(glob("csrc/**/*.h", recursive=True))
# A header is named with its folder.
FLAGS = ["-Icsrc", "-std=gnu11", "-O2", "-fvisibility=hidden"]
FLAGS += ["-Wall", "-Wextra", "-Wno-missing-field-initializers"]
# By this `stepper.need_c_part` knows a C part that was built for an earlier state of the checkout.
DECLARED = "stepper/_C.pyi"
FLAGS.append(f"-DSTEPPER_INTERFACE={crc32(Path(DECLARED).read_bytes())}L")
STRICT = "STEPPER_WERROR"
READER = "STEPPER_READER"


def missing() -> str:
    """What cannot be found of what building the C part takes, and what to do; empty: nothing."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return (
            "this Python is free-threaded, and stepper's C part relies on the GIL. Install it in a "
            "build with the GIL (python3.14, not python3.14t)."
        )
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


class BuildExtension(build_ext):
    """Looks first for what it needs: setuptools would print a page of its own words."""

    def run(self) -> None:
        """Compile and link."""
        if problem := missing():
            raise SystemExit(
                f"\nstepper records in C, and its C part cannot be built here: {problem}\n"
            )
        super().run()


def readme(project: dict[str, Any]) -> str:
    """The README, with addresses in place of paths: an index has no files to link to."""
    page = f"{project['urls']['Source']}/blob/main/"
    picture = f"{project['urls']['Source']}/raw/main/"
    text = Path("README.md").read_text(encoding="utf-8")
    return re.sub(
        r"(!?)(\[[^]]*\])\((?![a-z]+:|#)",
        lambda found: f"{found[1]}{found[2]}({picture if found[1] else page}",
        text,
    )


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    strict = ["-Werror"] if os.environ.get(STRICT) else []
    seen = [*HEADERS, DECLARED]
    c_part = Extension("stepper._C", SOURCES, depends=seen, extra_compile_args=FLAGS + strict)
    setup(
        cmdclass={"build_ext": BuildExtension},
        ext_modules=[] if os.environ.get(READER) else [c_part],
        long_description=readme(project),
        long_description_content_type="text/markdown",
    )
