"""Whether guards are needed, in words: what an experiment with the program itself has shown."""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.guard_kinds import leaves_of
from stepper.analysis.guard_uses import Matched, matching
from stepper.analysis.line import Line
from stepper.client.cache_text import witness_lines
from stepper.client.experiment import Answer, Question, experiments
from stepper.client.plan import Plan
from stepper.client.replay import SECONDS, Progress
from stepper.client.text import function_name, plural, short_name
from stepper.model.cache import WitnessSearch
from stepper.recording.reader import Recording

MOST = 10
"""Guards that are tried at once."""


def experiment_lines(
    recording: Recording,
    plan: Plan,
    wanted: str,
    entry: str = "",
    *,
    seconds: float = SECONDS,
    progress: Progress | None = None,
) -> Iterator[Line]:
    """Look for a witness of each guard that is named, in the program, run again.

    Args:
        recording: what is asked.
        plan: what is run; the user has agreed to it.
        wanted: see `stepper.analysis.guard_uses.matching`.
        entry: compile id of the only entry to look at; empty: all.
        seconds: how long the program may take.
        progress: where it is said what runs, and where it can be given up.

    Raises:
        stepper.client.plan.ReplayError: the program cannot be run again, or was given up.
    """
    found = matching(recording, wanted, entry)
    chosen = {_question(each): each for each in found[:MOST]}
    if not chosen:
        return
    yield Line("")
    yield Line("by experiment:", role="title")
    for answer in experiments(plan, tuple(chosen), seconds=seconds, progress=progress):
        yield from _told(answer, chosen[answer.question])
    if len(found) > MOST:
        yield Line(f"  … {plural(len(found) - MOST, 'more guard')} not tried", role="dim")


def _question(matched: Matched) -> Question:
    guard, item = matched.guard, matched.translation
    # Parts of the global state have one check together.
    leaves = leaves_of(guard.kind) or ("GLOBAL_STATE",)
    return Question(item.compile_id, item.name, leaves, guard.source)


def _told(answer: Answer, matched: Matched) -> Iterator[Line]:
    guard, item = matched.guard, matched.translation
    name = f"{guard.kind} {short_name(guard.source)}".strip()
    yield Line(f"  {name} of {item.compile_id} {function_name(item.name)}", guard.moment)
    for search in _telling(answer.searches):
        yield from (Line(f"    {text}", guard.moment) for text in witness_lines(search))
    if answer.trouble:
        yield Line(f"    not tried: {answer.trouble}", guard.moment)


def _telling(searches: tuple[WitnessSearch, ...]) -> tuple[WitnessSearch, ...]:
    """The checks of one guard that say something: witnesses, else all that were tried."""
    witnesses = tuple(each for each in searches if each.witness)
    tried = tuple(each for each in searches if each.trials)
    return witnesses or tried or searches[:1]
