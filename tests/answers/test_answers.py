"""What is answered about the programs of the bench, held to what their writers found out."""

from __future__ import annotations

import linecache
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from stepper.analysis.break_lines import break_lines
from stepper.analysis.break_remedies import changes_for
from stepper.analysis.breaks import causes
from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.guard_lines import guarded_lines
from stepper.analysis.guard_uses import matching
from stepper.analysis.line import Line
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.shape_lines import shape_lines
from stepper.recording.reader import Recording
from tests.answers.cases import CASES, Case, Question, of
from tests.answers.running import Recorded, counts, run, troubles
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

QUESTIONS: dict[Question, Callable[[Recording, str, str], Iterator[Line]]] = {
    "why-recompile": lambda recording, _, function: recompile_lines(recording, function),
    "why-break": lambda recording, _, function: break_lines(recording, function),
    "why-failed": lambda recording, _, function: failed_lines(recording, function),
    "why-shape": shape_lines,
    "is-guarded": guarded_lines,
}
"""Who answers, given the expression and a part of the function's name."""
EACH = pytest.mark.parametrize("name", CASES)


ACCEPTED = {
    "text_argument", "modules_with_other_keys", "trained_and_evaluated", "functions_of_torch",
    "mixers_of_blocks", "member_of_an_enum", "one_and_a_branch", "asked_whether_equal",
    "padded_to_the_longest", "only_steps_of_an_optimizer",
}  # fmt: skip
"""Programs of which the answer is that each of a few values has its entry, or that a library's
break stays: nothing is applied."""

Ran = tuple[dict[str, int], dict[str, int]]
"""Of each program how many graphs it made, and how often there was trouble."""


@pytest.fixture(scope="module")
def remedied() -> Ran:
    """The programs without stepper, with the remedy."""
    done = run("-m", "tests.answers", "--remedied")
    return counts(done), troubles(done)


@EACH
def test_the_remedy_helps_as_was_found(name: str, remedied: Ran, recorded: Recorded) -> None:
    assert (recorded[1][name], remedied[0][name]) == CASES[name].counts


@pytest.mark.parametrize("name", [case.name for case in CASES.values() if case.advice])
def test_the_first_advice_is_applied_and_leaves_less(
    name: str, remedied: Ran, recorded: Recorded
) -> None:
    """Fewer compilations, fewer breaks, or a frame compiled that was not."""
    was, now = CASES[name].counts
    before, after = recorded[2][name], remedied[1][name]
    assert (now < was or after < before or was == 0 < now) is (name not in ACCEPTED)


def test_watching_changes_nothing(recorded: Recorded) -> None:
    """Each fourth program without stepper; that all make what was found of them, watched, is tested
    above, and it was found without."""
    done = run("-m", "tests.answers", *list(CASES)[::4])
    alone, trouble = counts(done), troubles(done)
    assert alone == {name: recorded[1][name] for name in alone}
    assert trouble == {name: recorded[2][name] for name in alone}


@EACH
def test_the_answer_is_right(name: str, recorded: Recorded) -> None:
    case = CASES[name]
    lines = answered(case, recorded[0], f"{name}.<locals>")
    if case.function:
        lines = answered(case, recorded[0], case.function)
    answer = "\n".join(lines)
    assert not [*incomplete(lines, case), *astray(lines, recorded[0], case)], answer


def incomplete(lines: list[str], case: Case) -> Iterator[str]:
    """What an answer does not say, of what it should."""
    answer = "\n".join(lines)
    yield from (f"not said: {cause}" for cause in case.cause if cause not in answer)
    if case.line is not None:
        place = f"{case.file.relative_to(ROOT)}:{case.line}"
        if place not in answer:
            yield f"not said: {place}"
    first = next((line for line in lines if line.lstrip().startswith(ADVICE)), "")
    if not (case.advice in first if case.advice else not first):
        yield f"advised: {first!r}, not {case.advice!r}"


def astray(lines: list[str], recording: Recording, case: Case) -> Iterator[str]:
    """What an answer says that is wrong, or that nothing recorded says."""
    answer = "\n".join(lines)
    ours = "\n".join(line for line in lines if not line.lstrip().startswith(HINT))
    yield from (wrong for wrong in case.never if wrong in ours)
    yield from unfounded(answer, recording)
    yield from unknown(answer, recording, case)


ENTRY = re.compile(r"^ +(?:since )?(\d+/\d+) ", re.MULTILINE)
QUOTED = re.compile(
    r"^ +(?:because of|called from) (tests/answers/\w+\.py):(\d+) in [^:\n]+: (.+)", re.MULTILINE
)
GUARD = re.compile(r"\bguard (\d+)\b")
NAMED = re.compile(
    r"^  (?:[a-z_]+ of )?([A-Za-z_]\w*)[^ ]* (?:changes|grows|shrinks|is no longer)\b"
    r"|\bmark_(?:dynamic|unbacked|static)\(([A-Za-z_]\w*)"
    r"|^\d+/\d+ [^:]+: ([A-Za-z_]\w*)[^ ]* (?:is|never was) ",
    re.MULTILINE,
)
"""A name that an answer begins with, or would have marked, and so has to be one that is known."""
_COMPARED = 40
"""Characters of a line that is quoted; a long one is cut."""


def unfounded(answer: str, recording: Recording) -> Iterator[str]:
    """What an answer says of entries that are not recorded, or of lines, and is not so."""
    entries = {each.compile_id for each in recording.translations()}
    yield from (entry for entry in ENTRY.findall(answer) if entry not in entries)
    for file, line, text in QUOTED.findall(answer):
        there = linecache.getline(str(ROOT / file), int(line)).strip()
        if there[:_COMPARED] != text.strip()[:_COMPARED]:
            yield f"{file}:{line} is {there!r}, not {text!r}"


def unknown(answer: str, recording: Recording, case: Case) -> Iterator[str]:
    """The guards of an answer that are in no entry, and its names that are in neither the program
    nor what was compiled."""
    guards, words = known_of(recording)
    yield from (f"guard {id}" for id in GUARD.findall(answer) if int(id) not in guards)
    names = {name for found in NAMED.findall(answer) for name in found if name}
    yield from sorted(names - words - {*re.findall(r"\w+", case.file.read_text())})


@cache
def known_of(recording: Recording) -> tuple[frozenset[int], frozenset[str]]:
    """The numbers of the guards of all attempts, and the words of all the code that was compiled
    and of torch's state: what the compiler has left on the stack has no name there."""
    attempts = (each for item in recording.translations() for each in recording.attempts(item.id))
    guards = (guard.id for each in attempts for guard in recording.guards_installed(each.id))
    lines = (line for code in recording.codes() for line in code.source)
    states = {name for item in recording.translations() for name in item.state}
    return frozenset(guards), frozenset(re.findall(r"\w+", " ".join(lines))) | states


def test_each_program_is_asked_about_by_its_own_name() -> None:
    assert not [
        (one, other) for one in CASES for other in CASES if one != other and one.endswith(other)
    ]
    asked = [case.function for case in CASES.values() if case.function]
    assert not [
        (asked[at], other)
        for at in range(len(asked))
        for other in (*asked[:at], *asked[at + 1 :])
        if asked[at].lower() in other.lower()
    ]


def test_each_operator_is_defined_by_one_program_alone() -> None:
    """They are all of one process: a fake that a later one registers an earlier one has, too."""
    defined = Counter(
        name
        for path in Path(__file__).parent.glob("*.py")
        for name in re.findall(r'(?:custom_op|define)\("(\w+::\w+)', path.read_text())
    )
    assert defined
    assert not [name for name, times in defined.items() if times > 1]


def test_guards_are_found_by_the_name_of_a_class(recorded: Recorded) -> None:
    found = matching(recorded[0], "Factored.factor")
    assert {each.guard.kind for each in found} == {"CONSTANT_MATCH", "TYPE_MATCH"}
    assert all("'factor'" in each.guard.source for each in found)


def test_guards_are_found_by_the_names_that_lookups_have_for_them(recorded: Recorded) -> None:
    """`why-recompile` calls what failed so."""
    found = matching(recorded[0], "LENGTH_CHECK:SEEN")
    assert [each.guard.kind for each in found] == ["SEQUENCE_LENGTH"] * 3


def test_nothing_is_tried_on_what_only_the_compiler_has_a_name_for(recorded: Recorded) -> None:
    found = [changes_for(recorded[0], cause) for cause in causes(recorded[0])]
    assert any(found)
    assert not [each for each in found if "___stack" in str(each)]


ADVICE = ("advice: ", "change: ")
HINT = "hint: "
"""Dynamo's own words, told as such: they are for every break of a kind."""


def answered(case: Case, recording: Recording, function: str) -> list[str]:
    """The answer on a function."""
    return [line.text for line in QUESTIONS[case.ask](recording, case.expression, function)]


@pytest.mark.parametrize("name", [case.name for case in of("is-guarded")])
def test_what_is_called_guarded_takes_one_more_compilation(name: str) -> None:
    """The words that are asked for, held to what torch did."""
    case = CASES[name]
    changed, unchanged = case.counts
    if any(word in case.cause[0] for word in ("is not guarded", "is free", "but not that")):
        assert changed == unchanged
    elif "is guarded" in case.cause[0]:
        assert changed > unchanged
