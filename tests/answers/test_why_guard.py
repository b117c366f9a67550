"""`why-guard` on every guard of the bench: nothing is said that the recorded lookups contradict."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from stepper.analysis.guard_kinds import leaves_of, why_needless, why_unchecked
from stepper.analysis.guard_lines import use_lines
from stepper.analysis.guard_uses import GuardUse, Matched, Uses, entries, guards_of, is_of
from stepper.model.cache import Verdict
from stepper.model.trace import Translation
from stepper.recording.reader import Recording
from tests.answers.running import Recorded

pytestmark = pytest.mark.slow

OF_NO_GUARD = {"BACKEND", "INVALID", "NO_TENSOR_ALIASING"}
"""Checks of an entry that no instruction has asked for."""
SIZE = re.compile(r"(shape|stride)\[(\d+)\] (\d+)(?=,|$)")
COMPARED = re.compile(r"size=\[(?P<shape>.*?)\], stride=\[(?P<stride>.*?)\]")


def test_what_is_said_of_a_guard_is_what_lookups_found(recorded: Recorded) -> None:
    recording, *_ = recorded
    wrong = [
        f"{item.compile_id} {item.name}: {problem}"
        for item in entries(recording)
        for problem in problems(recording, item)
    ]
    assert not wrong


def problems(recording: Recording, item: Translation) -> Iterator[str]:
    """What is wrong with what is said of an entry's guards."""
    uses = Uses(recording)
    lookups = uses.checks(item)
    served = any(
        all(each.check.verdict is not Verdict.FAIL for each in checks) for checks in lookups
    )
    known = [uses.of(Matched(guard, item)) for guard in guards_of(recording, item)]
    for use in known:
        guard = use.guard
        name = f"{guard.kind} {guard.source} {guard.code}"
        if use.kind is None:
            yield f"{name} is not in the table"
        if "--lookups" in "\n".join(line.text for line in use_lines(recording, use)):
            yield f"{name}: lookups are recorded"
        running = not (why_unchecked(guard) or why_needless(guard)) and leaves_of(guard.kind)
        if served and running and not use.runs:
            yield f"{name} did not run in a lookup that the entry served"
        yield from (f"{name} {each}" for each in unlike(use, uses))
    for checks in lookups:
        for each in checks:
            failed = each.check.verdict is Verdict.FAIL and each.guard.kind not in OF_NO_GUARD
            if failed and not any(is_of(each.guard, use.guard) for use in known):
                yield f"what failed is of no guard: {each.guard}"
            for use in known if failed else ():
                by = use.implied.by if use.implied else None
                if by is None or not is_of(each.guard, use.guard):
                    continue
                theirs = [one.check.verdict for one in checks if is_of(one.guard, by)]
                if theirs and Verdict.FAIL not in theirs:
                    yield f"{use.guard} has failed, and what would imply it has passed: {by}"


def unlike(use: GuardUse, uses: Uses) -> Iterator[str]:
    """What is said of a tensor's sizes that a lookup has not compared so."""
    said = SIZE.findall(use.checks[0]) if use.checks else []
    for checks in uses.checks(use.translation)[:1] if said else ():
        for each in checks:
            if each.guard.kind != "TENSOR_MATCH" or not is_of(each.guard, use.guard):
                continue
            if (compared := COMPARED.search(each.guard.code[0])) is not None:
                for what, at, size in said:
                    sizes = compared[what].split(", ")
                    if int(at) >= len(sizes) or sizes[int(at)] != size:
                        yield f"{what}[{at}] is said to be {size}: {compared[0]}"
