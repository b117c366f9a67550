"""What is answered about the programs of the bench, held to what their writers found out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.analysis.break_lines import break_lines
from stepper.analysis.recompile_lines import recompile_lines
from stepper.recording.reader import Recording
from tests.answers import breaks, recompiles
from tests.answers.cases import CASES, Case
from tests.conftest import ROOT, clean_environment

pytestmark = pytest.mark.slow

Recorded = tuple[Recording, dict[str, int]]
"""A recording, and how many graphs each program made."""
QUESTIONS = {"why-recompile": recompile_lines, "why-break": break_lines}
FILES = {"why-recompile": recompiles, "why-break": breaks}
EACH = pytest.mark.parametrize("name", CASES)


def run(*command: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def counts(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How many graphs each program made."""
    pairs = (line.split() for line in done.stdout.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in CASES}


@pytest.fixture(scope="module")
def plain() -> tuple[dict[str, int], dict[str, int]]:
    """The graphs of each program without stepper: as reported, and with the remedy."""
    return counts(run("-m", "tests.answers")), counts(run("-m", "tests.answers", "--remedied"))


@pytest.fixture(scope="module")
def recorded(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Recorded]:
    """The programs recorded, and the graphs that each made then."""
    path = tmp_path_factory.mktemp("answers") / "r.stepper"
    done = run("-m", "stepper", "record", "--lookups", "-o", path, "-m", "tests.answers")
    recording = Recording.open(str(path))
    yield recording, counts(done)
    recording.close()


@EACH
def test_the_remedy_helps_as_was_found(name: str, plain: tuple[dict[str, int], ...]) -> None:
    assert tuple(each[name] for each in plain) == CASES[name].counts


def test_watching_changes_nothing(plain: tuple[dict[str, int], ...], recorded: Recorded) -> None:
    assert recorded[1] == plain[0]


@EACH
def test_the_answer_is_right(name: str, recorded: Recorded) -> None:
    case = CASES[name]
    lines = [line.text for line in QUESTIONS[case.ask](recorded[0], f"{name}.<locals>")]
    lines = lines if len(lines) > 1 else named(case, recorded[0])
    answer = "\n".join(lines)
    for cause in case.cause:
        assert cause in answer, answer
    if case.line is not None:
        place = f"{Path(str(FILES[case.ask].__file__)).relative_to(ROOT)}:{case.line}"
        assert place in answer, answer
    first = next((line for line in lines if line.lstrip().startswith(ADVICE)), "")
    assert case.advice in first if case.advice else not first, answer
    for wrong in case.never:
        assert wrong not in answer, answer


ADVICE = ("advice: ", "change: ")


def named(case: Case, recording: Recording) -> list[str]:
    """The answer on a function of a library that the program calls."""
    assert case.function, case.name
    return [line.text for line in QUESTIONS[case.ask](recording, case.function)]
