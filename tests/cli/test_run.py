"""`stepper run` in a real terminal ends as the program ended, once that has ended by itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pexpect
import pytest

from tests.cli.test_command_line import environment

pytestmark = pytest.mark.real_terminal


def run(tmp_path: Path, code: str) -> pexpect.spawn[str]:
    return pexpect.spawn(
        sys.executable,
        ["-m", "stepper", "run", "-o", "run.stepper", "-c", code],
        cwd=str(tmp_path),
        env={**environment(tmp_path), "TERM": "xterm-256color", "NO_COLOR": "1"},
        encoding="utf-8",
        timeout=600,
        dimensions=(24, 100),
    )


@pytest.mark.parametrize(
    ("code", "words", "expected"),
    [
        ("raise SystemExit(3)", "ended with exit code 3", (3, None)),
        ("import os; os.kill(os.getpid(), 15)", r"killed by SIGTERM \(15\)", (None, 15)),
        ("pass", "ended with exit code 0", (0, None)),
    ],
)
def test_it_ends_as_the_program_ended(
    tmp_path: Path, code: str, words: str, expected: tuple[int | None, int | None]
) -> None:
    child = run(tmp_path, code)
    child.expect(words)
    child.send("q")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert (child.exitstatus, child.signalstatus) == expected
