"""Runs the programs of the bench in a process of their own."""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

from stepper.recording.reader import Recording
from tests import ready
from tests.answers.cases import CASES, Case, Question, of
from tests.answers.guard_experiments import EXPERIMENTS
from tests.conftest import ROOT, clean_environment

Recorded = tuple[Recording, dict[str, int], dict[str, int]]
"""A recording, how many graphs each program made (of experiments: after the change), and how often
there was trouble."""


def run(*command: object) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments, begun as `tests.ready` says; it must not fail."""
    done = subprocess.run(
        ready.python(*command),
        cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False, timeout=850,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def native_recording(path: Path, *words: str) -> Recording:
    """The bench with these words, under the native engine."""
    run("-m", "stepper", "record", "--engine", "native", "-o", path, "-m", "tests.answers", *words)
    return Recording.open(str(path))


_ALSO = frozenset(
    {
        "asked_and_served_with_its_own", "order_of_a_dict", "totals_that_are_made_when_missing",
        "trained_then_served", "variable_of_the_environment",
    }
)  # fmt: skip
"""Programs by which something of the native engine's was found to be wrong."""


def some_of(question: Question) -> Iterator[Case]:
    """Each third case of a question, by its name, whatever others there are, and a few more: those
    that are held to the native engine, too, where all of them would take too long."""
    for case in of(question):
        if zlib.crc32(case.name.encode()) % 3 == 0 or case.name in _ALSO:
            yield case


def counts(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How many graphs each program made."""
    return {words[0]: int(words[1]) for words in _told(done)}


def troubles(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How often Dynamo met what it does not support in each program, or did not compile a frame."""
    return {words[0]: int(words[2]) for words in _told(done) if len(words) == 3}


def _told(done: subprocess.CompletedProcess[str]) -> Iterator[list[str]]:
    known = CASES.keys() | EXPERIMENTS.keys()
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) in (2, 3) and words[0] in known:
            yield words
