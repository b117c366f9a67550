"""The C extension under sanitizers, and what a checkout says in which it was never built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, clean_environment
from tests.csrc.counted import interpreter
from tests.distribution import copy_checkout

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
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


LEAK = """
import ctypes


def test_that_leaks() -> None:
    kept = object()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
"""


@pytest.mark.slow
@pytest.mark.skipif(not interpreter(), reason="no debug build of this Python is installed")
def test_no_reference_is_left_by_the_extensions_tests(tmp_path: Path) -> None:
    """A sample of them; `python -m tests.csrc.counted` runs them all."""
    leaks = tmp_path / "test_leaks.py"
    leaks.write_text(LEAK)
    sample = [f"tests/csrc/test_{name}.py" for name in ("memory", "steps", "undo")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.csrc.counted", *sample, str(leaks)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed" in done.stdout, done.stdout + done.stderr
    assert "test_that_leaks - AssertionError: each round leaves references" in done.stdout


@pytest.mark.parametrize("what", ["breakpoint()", "record('a')", "native", "compile", "cache"])
def test_a_package_without_its_c_part_says_what_to_do(
    what: str, run_python: Run, tmp_path: Path
) -> None:
    package = tmp_path / "elsewhere" / "stepper"
    package.mkdir(parents=True)
    shutil.copy(ROOT / "stepper" / "__init__.py", package)
    code = (
        f"import sys; sys.path.insert(0, {str(package.parent)!r}); import stepper; stepper.{what}"
    )
    done = run_python("-c", code)
    assert done.returncode == 1
    message = done.stderr.splitlines()[-1]
    assert message.startswith("ImportError: stepper's C part was not built for this Python (")
    assert "C compiler" in message
    assert "pip install" in message


def test_a_c_part_that_is_older_than_the_python_beside_it_is_to_be_built_again(
    tmp_path: Path,
) -> None:
    """As after a pull, in a checkout that is used where it lies."""
    shutil.copytree(ROOT / "stepper", tmp_path / "stepper")
    declared = tmp_path / "stepper" / "_C.pyi"
    (tmp_path / "program.py").write_text("print('it ran')")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**clean_environment(), "PYTHONPATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )

    record = ("-m", "stepper", "record", "-o", "a.stepper", "program.py")
    declared.touch()  # written again as it was: nothing is older
    assert "it ran" in run(*record).stdout
    declared.write_text(declared.read_text() + "def new() -> None: ...\n")
    for command in (
        record, ("-m", "stepper", "doctor"), ("-c", "import stepper; stepper.compile"),
    ):  # fmt: skip
        done = run(*command)
        said = done.stdout + done.stderr
        assert done.returncode, said
        assert ") is older than the Python beside it. Build it again: " in said
        assert f" -m pip install -e {tmp_path}" in said
        assert "it ran" not in said


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
    copy_checkout(checkout)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "."]
    done = subprocess.run(
        command,
        cwd=checkout,
        env={**os.environ, **surroundings},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert "its C part cannot be built here" in said
    assert missing in said
    assert advice in said
