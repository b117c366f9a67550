"""What can be asked where the cursor stands: answers for the screen that says why."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import takewhile
from typing import NamedTuple

from stepper.analysis.dependence_lines import dependence_lines
from stepper.analysis.guard_experiments import experiment_lines
from stepper.analysis.guard_lines import guard_lines
from stepper.analysis.guard_uses import entries
from stepper.analysis.here import OF_THE_CACHE, event_at, here_lines
from stepper.analysis.line import Line
from stepper.analysis.questions import QUESTIONS
from stepper.analysis.questions import Question as Row
from stepper.analysis.run_lines import attempt_lines, entry_lines, moment_lines
from stepper.client.plan import Plan
from stepper.client.replay import Progress
from stepper.client.text import walk_name
from stepper.model.ranges import Ranges
from stepper.model.trace import EventKind, Guard, MomentId
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording

Trial = Callable[[Recording, Plan, Progress], Iterator[Line]]
"""Answers by running the program of a recording again, as the user has agreed to; what it is doing
is told meanwhile."""


class Question(NamedTuple):
    """A question, and who answers it."""

    title: str
    answer: Callable[[Recording, int], Iterator[Line]]
    """From a recording and the columns that there are for a line."""
    trial: Trial | None = None
    """The answer with what came of running the program again; None: that would say no more."""
    about: str = ""
    """What the title leaves open, so that one question can be told from another."""
    timed: bool = False
    """Whether the times of runs are compared; see `plan_of`."""

    @property
    def key(self) -> tuple[str, str]:
        """Names the question, wherever and whenever it is asked."""
        return self.title, self.about


def _of_row(row: Row) -> Question:
    """A question of the table, about the whole run."""
    options = {"every": True} if row.every else {}

    def answer(recording: Recording, width: int) -> Iterator[Line]:
        found: Iterator[Line] = row.answer()(recording, **options)
        return found

    if not row.trials:
        return Question(row.title, answer)

    def trial(recording: Recording, plan: Plan, progress: Progress) -> Iterator[Line]:
        trying = row.trying()(recording, plan, progress=progress).lines
        found: Iterator[Line] = row.answer()(recording, trying=trying, **options)
        return found

    return Question(row.title, answer, trial, timed=row.trying().timed)


@cache
def _rows() -> dict[str, Question]:
    """What the table asks without an argument, by name."""
    return {name: _of_row(row) for name, row in QUESTIONS.items() if row.title}


_BY_ITSELF = OF_THE_CACHE | {EventKind.RECOMPILE, EventKind.CACHE_LIMIT}
"""What is asked about these is asked of the moment alone, before the whole run is."""


def of_the_run(recording: Recording, moment: MomentId) -> list[Question]:
    """What can be asked anywhere; what the moment is about comes first, or what failed where
    nothing was compiled again."""
    event, rows = event_at(recording, moment), _rows()
    about = [rows[name] for name in rows if event and event.kind in QUESTIONS[name].about]
    if event is not None and event.kind in _BY_ITSELF:
        about = [
            Question(
                "why we are here",
                lambda recording, _: here_lines(recording, moment),
                about=str(moment),
            )
        ]
    if not about and not recording.event_count((EventKind.RECOMPILE,)):
        with contextlib.suppress(RecordingError):  # the answer says what is damaged
            about = [rows["why-failed"]] if recording.failures() else []
    capabilities = recording.facts.capabilities
    fitting = [rows[name] for name in rows if QUESTIONS[name].fits(capabilities)]
    return list(dict.fromkeys([*about, *fitting]))


def on_guard(guard: Guard) -> Question:
    """Why a guard is there."""
    number = str(guard.id)

    def experiment(recording: Recording, plan: Plan, progress: Progress) -> Iterator[Line]:
        yield from guard_lines(recording, number)
        yield from experiment_lines(recording, plan, number, progress=progress)

    return Question(
        "why this guard is there",
        lambda recording, _: guard_lines(recording, number),
        experiment,
        number,
    )


def on_guards_of(attempt: int, name: str, ranges: Ranges) -> Question:
    """On which guards a value or node of an attempt depends."""
    return Question(
        f"on which guards {name} depends",
        lambda recording, _: dependence_lines(recording, attempt, name, ranges),
    )


def comparisons(
    recording: Recording, moment: MomentId, before: MomentId | None
) -> Iterator[Question]:
    """In what this moment differs from the one that the cursor came from, its attempt from the
    attempt before, and its entry from the entry before of the same function.

    Args:
        recording: what is asked.
        moment: where the cursor stands.
        before: where it stood before its last jump; None: it has not jumped.
    """
    if before is not None and before != moment:
        yield Question(
            f"what differs from moment {before}",
            lambda recording, width: moment_lines(
                recording, before, recording, moment, width=width
            ),
        )
    attempt = recording.attempt(recording.place(moment).attempt)
    walk = recording.translation(attempt.translation)
    earlier = list(takewhile(lambda each: each.id < attempt.id, recording.attempts(walk.id)))
    if earlier:
        yield Question(
            f"what differs from attempt {earlier[-1].number}",
            lambda recording, width: attempt_lines(
                recording, earlier[-1], recording, attempt, width=width
            ),
        )
    made = [item for item in entries(recording) if item.code == walk.code and item.id < walk.id]
    if made:
        yield Question(
            f"what differs from {walk_name(made[-1])}",
            lambda recording, width: entry_lines(recording, made[-1], recording, walk, width=width),
        )
