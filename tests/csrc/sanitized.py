"""Builds the extension with AddressSanitizer and UBSan and runs this folder's tests under them.

Run `python -m tests.csrc.sanitized [pytest arguments]`. It needs gcc with its sanitizer libraries,
and nothing of the installed extension: sources are compiled into a temporary folder.

Python's own allocator hides most of what AddressSanitizer looks for, so it is switched off; leaks
are not looked for here, as the interpreter itself keeps what it has until the end (the tests count
references instead).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
DEBUG = ["-O1", "-g", "-fno-omit-frame-pointer", "-UNDEBUG"]


def build(folder: Path) -> None:
    """Compiles the extension into a copy of the package that holds nothing but it and the tests."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (extension,) = settings["tool"]["setuptools"]["ext-modules"]
    package = folder / "stepper"
    package.mkdir()
    shutil.copy(ROOT / "stepper" / "__init__.py", package)
    tests = folder / "tests"
    shutil.copytree(ROOT / "tests" / "csrc", tests / "csrc")
    (tests / "__init__.py").touch()
    target = package / ("_C" + str(sysconfig.get_config_var("EXT_SUFFIX")))
    command = ["gcc", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}"]
    command += extension["extra-compile-args"] + DEBUG + SANITIZERS
    command += [str(ROOT / source) for source in extension["sources"]]
    subprocess.run([*command, "-o", str(target)], check=True)


def library(name: str) -> str:
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        environment = os.environ | {
            "LD_PRELOAD": f"{library('libasan.so')} {library('libubsan.so')}",
            "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": name,
        }
        # Nothing captured: a sanitizer writes what it found and ends the process.
        pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n0", "-s"]
        for setting in ("asyncio_mode=auto", "asyncio_default_fixture_loop_scope=function"):
            pytest += ["-o", setting]
        pytest += ["--rootdir", name, "tests/csrc"]
        done = subprocess.run([*pytest, *sys.argv[1:]], cwd=name, env=environment, check=False)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
