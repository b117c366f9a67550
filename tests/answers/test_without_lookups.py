"""What is answered of a recording that has no lookups: the same, or less; nothing else.

Without lookups there are the compiler's own words on one entry, and what the next compilation wants
differently. So a value may not be known, but what is said to differ must be what the lookups of the
same programs found to differ, and what is advised must follow from that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.analysis.handed_on import Spelling, spelling
from stepper.analysis.recompile_advice import advise
from stepper.analysis.recompile_series import histories
from stepper.analysis.recompiles import Recompilation, recompilations
from stepper.analysis.sources import unscoped
from stepper.analysis.unmet_guards import Failure
from stepper.model.datum import Datum, text_of
from stepper.model.lookup import Difference
from stepper.recording.reader import Recording
from tests.answers.cases import CASES, Case
from tests.answers.running import Recorded, run
from tests.answers.test_answers import answered, astray, incomplete

pytestmark = pytest.mark.slow

LESS = {
    "few objects": {"code made again", "object made again"},
    "inference": {"inference tensor"},
    "value": {"value unread"},
    "not there": {"value"},
    "relation": {"condition"},
    "length": {"keys"},
}
"""Rules that are asked where a value is not recorded, and those in whose place they stand."""
ALIKE = (
    {"dictionary", "length", "keys"},
    {"inference", "inference tensor", "inference mode", "dispatch keys"},
)
"""What is told of a value, by what was there: how many keys a dictionary has, or that they are
others."""


def test_without_lookups_less_is_answered_and_nothing_else(
    recorded: Recorded, tmp_path: Path
) -> None:
    path = tmp_path / "plain.stepper"
    run("-m", "stepper", "record", "-o", path, "-m", "tests.answers")
    plain = Recording.open(str(path))
    try:
        found = {case.name: [*wrong(case, plain, recorded[0])] for case in CASES.values()}
    finally:
        plain.close()
    assert not {name: problems for name, problems in found.items() if problems}


def wrong(case: Case, plain: Recording, looked_up: Recording) -> Iterator[str]:
    """What is wrong with an answer."""
    function = case.function or f"{case.name}.<locals>"
    lines = answered(case, plain, function)
    yield from astray(lines, plain, case)
    missing = [*incomplete(lines, case)]
    if case.ask != "why-recompile":
        yield from missing
        return
    again, known = ([*recompilations(each, function)] for each in (plain, looked_up))
    if len(again) != len(known):
        yield f"{len(again)} recompilations, not {len(known)}"
    less = not known and not again  # calls for which nothing was compiled
    for one, other in zip(again, known, strict=False):
        yield from unlike(one, other, spelling(plain, one.translation))
        less = less or {*facts(one)} != {*facts(other)}
    # Which of several functions is told first is told by how long each took.
    if not less and not any(case.advice in line for line in lines):
        yield from missing
    rules, others = ({*advising(each, function)} for each in (plain, looked_up))
    for rule in rules - others:
        if not LESS.get(rule, set()) & others:
            yield f"advised by {rule!r}, not by {sorted(others)}"


def advising(recording: Recording, function: str) -> Iterator[str]:
    """The rules that advise on a function."""
    for history in histories(recording, recompilations(recording, function)):
        yield from (advice.rule for advice in advise(recording, history))


def facts(again: Recompilation) -> Iterator[tuple[str, ...]]:
    """All that is known to have differed."""
    for tried in again.tried:
        for failure in tried.failures:
            for each in failure.differences:
                values = text_of(each.expected), text_of(each.actual)
                yield tried.entry, unscoped(failure.source), str(each.aspect), *values
            yield tried.entry, unscoped(failure.source), failure.text, text_of(failure.saw)


def unlike(one: Recompilation, other: Recompilation, spell: Spelling) -> Iterator[str]:
    """What is said to differ that does not, by the lookup."""
    known = {tried.entry: tried.failures for tried in other.tried}
    for tried in one.tried:
        for failure in tried.failures:
            if not any(backs(each, failure, spell) for each in known.get(tried.entry, ())):
                yield f"{tried.entry}: {failure.kind} {failure.source} {failure.differences}"


def backs(known: Failure, said: Failure, spell: Spelling) -> bool:
    """Whether what a lookup found says what is said without."""
    if known.kind == "INVALID":
        return True  # nothing else was looked at
    if said.kind == "BACKEND":
        return known.kind == "BACKEND"
    if said.source and spell(known.source) != spell(said.source):
        return False
    if not said.differences or not known.differences:
        return True
    return all(any(agrees(each, mine) for each in known.differences) for mine in said.differences)


def agrees(known: Difference, said: Difference) -> bool:
    """Whether the same of a value differs, and its values are those that were there, as far as they
    are known. A tensor's dispatch keys tell of its device, too."""
    if said.what == "dispatch keys":
        return True
    alike = known.what == said.what or any({known.what, said.what} <= each for each in ALIKE)
    pairs = ((said.expected, known.expected), (said.actual, known.actual))
    return alike and known.at == said.at and all(same_value(*pair) for pair in pairs)


def same_value(said: Datum, known: Datum) -> bool:
    """Whether a value is the one that was there, as far as it is known."""
    words = [sorted(re.findall(r"[\w+-]+", SHORT.sub("", text_of(each)))) for each in (said, known)]
    return words[0] == words[1] or any(VAGUE.fullmatch(text_of(each)) for each in (said, known))


SHORT = re.compile(r" \(HINT.*|another |\w+ of |[\w.<>]*\.|[<>()]|class|'")
"""What one has of a name and the other may not: where a class is from, and where it lies."""
VAGUE = re.compile(
    r"|<[\w.]+>|the \w+ that it was|others|a tensor type|\w+ of another size|\w+ of \d+ or more"
    r"|b?'<withheld>'"
)
"""A value of which only the type is known, or not even that."""
