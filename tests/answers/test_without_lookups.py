"""What is answered of a recording that has no lookups: the same, line by line.

What a call did not pass is asked again before the compilation that follows, and recorded with that.
Only how many calls there were is not known, and of those for which nothing was compiled that there
were any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.recording.reader import Recording
from tests.answers.cases import CASES, Case, of
from tests.answers.running import Recorded, run
from tests.answers.test_answers import answered

pytestmark = pytest.mark.slow

UNCOMPILED = frozenset({"stance_that_compiles_nothing"})
"""Programs whose calls nothing was compiled for."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """The programs, recorded without lookups."""
    path: Path = tmp_path_factory.mktemp("plain") / "plain.stepper"
    run("-m", "stepper", "record", "-o", path, "-m", "tests.answers")
    recording = Recording.open(str(path))
    yield recording
    recording.close()


@pytest.mark.parametrize("name", sorted({case.name for case in of("why-recompile")} - UNCOMPILED))
def test_without_lookups_the_same_is_answered(
    name: str, plain: Recording, recorded: Recorded
) -> None:
    assert told(CASES[name], plain) == told(CASES[name], recorded[0])


@pytest.mark.parametrize("name", sorted(UNCOMPILED))
def test_of_a_call_that_nothing_is_compiled_for_it_is_said_how_to_record_it(
    name: str, plain: Recording
) -> None:
    [answer] = told(CASES[name], plain)
    assert {"recorded", "lookups"} <= {*answer}


def told(case: Case, recording: Recording) -> list[list[str]]:
    """The words of each line of an answer, in an order that does not depend on how long functions
    took or where objects lie."""
    lines = answered(case, recording, case.function or f"{case.name}.<locals>")
    return sorted(sorted(re.findall(r"\w+", BY_CHANCE.sub("", line))) for line in lines)


BY_CHANCE = re.compile(
    r"\d+\.\d\d s$| at 0x[0-9a-f]+| (?:after \d+ entries|at call \d+): .*|, \d+ calls? run un.*"
)
"""What is another in each run, and of a limit what only lookups tell."""
