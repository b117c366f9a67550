"""Builds the extension with AddressSanitizer and UBSan and runs this folder's tests under them.

Run `python -m tests.csrc.sanitized [pytest arguments]`. It needs gcc with its sanitizer libraries,
and nothing of the installed extension: sources are compiled into a temporary folder.

Python's own allocator hides most of what AddressSanitizer looks for, so it is switched off; leaks
are not looked for here, as the interpreter itself keeps what it has until the end (the tests count
references instead).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.csrc.building import build

SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
DEBUG = ["-O1", "-g", "-fno-omit-frame-pointer", "-UNDEBUG"]


def library(name: str) -> str:
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder, DEBUG + SANITIZERS)
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
