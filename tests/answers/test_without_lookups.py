"""What is known of a recording that has no lookups: the same.

What a call did not pass is asked again before the compilation that follows, and recorded with that.
Only how many calls there were is not known, and of those for which nothing was compiled that there
were any.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.analysis.recompiles import Recompilation, recompilations
from stepper.analysis.unmet_guards import Failure
from stepper.recording.reader import Recording
from tests.answers.cases import CASES, Case, of
from tests.answers.running import Recorded, run
from tests.answers.test_answers import answered

pytestmark = pytest.mark.slow

UNCOMPILED = "stance_that_compiles_nothing"
"""A program with a call that nothing was compiled for."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """Each second of the programs that are compiled again, recorded without lookups."""
    path: Path = tmp_path_factory.mktemp("plain") / "plain.stepper"
    names = [UNCOMPILED, *[case.name for case in of("why-recompile")][::2]]
    run("-m", "stepper", "record", "-o", path, "-m", "tests.answers", *names)
    recording = Recording.open(str(path))
    yield recording
    recording.close()


def test_without_lookups_the_same_is_known(plain: Recording, recorded: Recorded) -> None:
    """An answer is made of nothing else, so that none has to be made twice."""
    known, found = known_of(recorded[0]), known_of(plain)
    assert len(found) > 100
    for name, recompiled in found.items():
        if name.partition(".")[0] in CASES:
            assert recompiled == known[name], name
        else:  # modules, of other programs as well
            assert [each for each in recompiled if each not in known[name]] == [], name


def test_of_a_call_that_nothing_is_compiled_for_it_is_said_how_to_record_it(
    plain: Recording,
) -> None:
    case: Case = CASES[UNCOMPILED]
    [line] = answered(case, plain, f"{case.name}.<locals>")
    assert "is recorded only with --lookups" in line


def known_of(recording: Recording) -> dict[str, list[object]]:
    """All that is known of why each function of the bench was compiled again, time by time."""
    found: dict[str, list[object]] = defaultdict(list)
    for each in recompilations(recording, ".<locals>"):
        found[each.translation.name].append(_reasons(each))
    return found


def _reasons(again: Recompilation) -> object:
    """Entries are numbered as they come in a program, and its objects lie elsewhere each time, so
    that sets and dead entries have another order."""
    return sorted(
        (each.entry.partition("/")[2], [*map(_of, each.failures)]) for each in again.tried
    )


_BY_CHANCE = re.compile(r"0x[0-9a-f]+|\d{9,}|\b\d+/\d+")


def _of(failure: Failure) -> object:
    said = _BY_CHANCE.sub("", f"{failure.differences} {failure.text}")
    where = "" if failure.user_line is None else str(failure.user_line.place)
    words = sorted(re.findall(r"\w+", said))
    return failure.kind, failure.source, words, where, failure.behind, failure.missing
