"""Runs the programs of the bench in a process of their own."""

from __future__ import annotations

import subprocess
import sys

from stepper.recording.reader import Recording
from tests.answers.cases import CASES
from tests.answers.swept import SWEPT
from tests.conftest import ROOT, clean_environment

Recorded = tuple[Recording, dict[str, int]]
"""A recording, and how many graphs each program made; of the sweep's: after the change."""


def run(*command: object) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; it must not fail."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def counts(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How many graphs each program made."""
    known = CASES.keys() | SWEPT.keys()
    pairs = (line.split() for line in done.stdout.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in known}
