"""The C extension under sanitizers, and what a checkout says in which it was never built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def has_sanitizers() -> bool:
    if shutil.which("gcc") is None:
        return False
    command = ["gcc", "-print-file-name=libasan.so"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return Path(found).is_absolute()


@pytest.mark.slow
@pytest.mark.skipif(not has_sanitizers(), reason="gcc and its sanitizers are not installed")
def test_the_extensions_tests_pass_under_sanitizers() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.csrc.sanitized"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_package_without_its_c_part_says_what_to_do(run_python: Run, tmp_path: Path) -> None:
    package = tmp_path / "elsewhere" / "stepper"
    package.mkdir(parents=True)
    shutil.copy(ROOT / "stepper" / "__init__.py", package)
    code = f"import sys; sys.path.insert(0, {str(package.parent)!r}); import stepper"
    done = run_python("-c", code)
    assert done.returncode == 1
    message = done.stderr.splitlines()[-1]
    assert message.startswith("ImportError: stepper's C part was not built for this Python (")
    assert "C compiler" in message
    assert "pip install" in message


@pytest.mark.parametrize(
    ("surroundings", "missing", "advice"),
    [
        ({"CC": "no-such-compiler -pthread"}, "'no-such-compiler'", "apt install build-essential"),
        ({"PATH": "/nowhere"}, "C compiler of this Python", "environment variable CC"),
    ],
)
def test_an_installation_without_a_compiler_says_what_to_do(
    surroundings: dict[str, str], missing: str, advice: str, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(
        ROOT,
        checkout,
        ignore=lambda folder, names: {
            name for name in names if folder == str(ROOT) and name not in NEEDED_TO_BUILD
        },
    )
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "."]
    done = subprocess.run(
        command,
        cwd=checkout,
        env={**os.environ, **surroundings},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert "its C part cannot be built here" in said
    assert missing in said
    assert advice in said


NEEDED_TO_BUILD = {"csrc", "stepper", "pyproject.toml", "README.md", "LICENSE"}
