"""What can be asked where the cursor stands: answers for the screen that says why."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import NamedTuple

from stepper.analysis.break_lines import break_lines
from stepper.analysis.break_trials import BreakTrials
from stepper.analysis.dependence_lines import dependence_lines, idle_lines
from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.failure_trials import FailureTrials
from stepper.analysis.guard_experiments import experiment_lines
from stepper.analysis.guard_lines import guard_lines
from stepper.analysis.guard_uses import entries
from stepper.analysis.here import OF_THE_CACHE, event_at, here_lines
from stepper.analysis.line import Line
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.recompile_trials import RecompileTrials
from stepper.analysis.replays import Replays
from stepper.analysis.run_lines import attempt_lines, entry_lines, moment_lines
from stepper.analysis.shape_lines import shape_lines
from stepper.analysis.slow_lines import slow_lines
from stepper.analysis.slow_trials import SlowTrials
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


def _proved(
    title: str, lines: Callable[..., Iterator[Line]], trials: type[Replays], **options: bool
) -> Question:
    """A question about the whole run, of whose answer `trials` may prove something."""

    def trial(recording: Recording, plan: Plan, progress: Progress) -> Iterator[Line]:
        trying = trials(recording, plan, progress=progress).lines
        return lines(recording, trying=trying, **options)

    def answer(recording: Recording, width: int) -> Iterator[Line]:
        return lines(recording, **options)

    return Question(title, answer, trial, timed=trials.timed)


_ON_RECOMPILATIONS = _proved(
    "why it was compiled again", recompile_lines, RecompileTrials, every=True
)
_ON_BREAKS = _proved("why graphs broke", break_lines, BreakTrials)
_ON_FAILURES = _proved("why compilations failed", failed_lines, FailureTrials)
_ON_SIZES = Question("why sizes are fixed", lambda recording, _: shape_lines(recording))
ON_TIME = _proved("why compiling takes so long", slow_lines, SlowTrials)
_OF_THE_RUN = (_ON_RECOMPILATIONS, _ON_BREAKS, _ON_FAILURES)
_ABOUT = {
    EventKind.GRAPH_BREAK: _ON_BREAKS,
    EventKind.SKIP: _ON_BREAKS,
    EventKind.EXCEPTION: _ON_FAILURES,
    EventKind.SPECIALIZE: _ON_SIZES,
}
_BY_ITSELF = OF_THE_CACHE | {EventKind.RECOMPILE, EventKind.CACHE_LIMIT}
"""What is asked about these is asked of the moment alone, before the whole run is."""


def of_the_run(recording: Recording, moment: MomentId) -> list[Question]:
    """What can be asked anywhere; what the moment is about comes first, or what failed where
    nothing was compiled again."""
    event = event_at(recording, moment)
    first = None if event is None else _ABOUT.get(event.kind)
    if event is not None and event.kind in _BY_ITSELF:
        first = Question(
            "why we are here", lambda recording, _: here_lines(recording, moment), about=str(moment)
        )
    if first is None and not recording.event_count((EventKind.RECOMPILE,)):
        with contextlib.suppress(RecordingError):  # the answer says what is damaged
            first = _ON_FAILURES if recording.failures() else None
    return list(dict.fromkeys([*([first] if first else []), *_OF_THE_RUN]))


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


ON_IDLE = Question("which guards no output depends on", lambda recording, _: idle_lines(recording))
"""Where values carry the guards that they depend on."""


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
