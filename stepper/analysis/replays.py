"""The program of a recording run again with something changed, each way once, and what came of it.

What is tried is judged by what it leaves: a change is *proven* when fewer compilations or graph
breaks are left, nothing fails that did not, and the program prints what it printed and ends as it
ended. No two runs need be alike, so all of it is compared with one more run as it is.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, ClassVar, NamedTuple

import msgspec

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.failures import failures
from stepper.analysis.line import Line
from stepper.analysis.places import Files
from stepper.analysis.run_costs import CallCost, call_costs
from stepper.analysis.walks import compilations, graphs
from stepper.client.plan import Plan
from stepper.client.replay import SECONDS, Progress, replayed
from stepper.client.scratch import Edit, Sources, line_after, line_before
from stepper.client.text import clip, one_line, without_colours
from stepper.model.change import Change, Decorate, Dynamic, Setting
from stepper.model.lookup import Aspect
from stepper.model.trace import EventKind, Outcome, headline
from stepper.recording.reader import Recording

_LOGGED = re.compile(r"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ ")
_WARNING = re.compile(r"\S.*:\d+: \w*Warning: ")
_TRACEBACK = "Traceback (most recent call last):"
_OURS = re.compile(r'  File ".*[/\\]stepper[/\\]debuggee[/\\]scratch_main\.py", line ')
"""The one frame that a run with another text has below the program's, in a traceback."""
_SAME = "the output and the exit code are the same"
_ENDS = "it ends with exit code 0"
_GOES_ON = "it prints what it did before it failed, and ends with exit code 0"
_TEXT = 40
"""Characters of a printed line that are told."""
_MESSAGE = 160
"""Characters of an exception's message that are told."""

Function = tuple[str, str, int]
"""A function: its name, file and first line."""


class Way(msgspec.Struct, frozen=True):
    """A way to change the program for one run."""

    words: str
    """What is changed, for a person."""
    edits: tuple[Edit, ...] = ()
    """In the program's text."""
    changes: tuple[Change, ...] = ()
    """From outside of it."""
    does: tuple[Change, ...] = ()
    """The changes that those in the text come to."""
    about: tuple[tuple[str, Aspect], ...] = ()
    """What it remedies: sources, and what of each changes."""
    unsafe: bool = False
    """Whether the compiler takes the program's word for something that a run may not show."""

    @property
    def size(self) -> int:
        """How much is changed: what is smaller is to be preferred, text to what can only be said,
        and either to what is to be believed."""
        lines = {(each.path, each.line) for each in self.edits}
        return len(lines) + 100 * len(self.changes) + 1000 * self.unsafe


AS_IT_IS = Way("")


def together(ways: list[Way]) -> Way:
    """Several ways at once."""
    return Way(
        "; ".join(dict.fromkeys(each.words for each in ways)),
        tuple(dict.fromkeys(edit for each in ways for edit in each.edits)),
        tuple(dict.fromkeys(change for each in ways for change in each.changes)),
        tuple(dict.fromkeys(change for each in ways for change in each.does)),
        tuple(dict.fromkeys(it for each in ways for it in each.about)),
        any(each.unsafe for each in ways),
    )


class RunFacts(NamedTuple):
    """What is compared of two runs."""

    compiled: Counter[Function]
    """Compilations of each function."""
    breaks: int
    graphs: int
    instructions: int
    thrown_away: int
    """Attempts that a restart ended."""
    compiling: int | None
    """Nanoseconds; None: not recorded."""
    served: dict[Function, CallCost]
    """What calls cost that found an entry, where lookups are recorded."""
    failed: int
    """Compilations that failed."""
    message: str
    """What the first of them failed with, in one line."""
    printed: tuple[str, ...]
    """The lines of its output."""

    @property
    def compilations(self) -> int:
        """How many compilations there were, of all functions."""
        return sum(self.compiled.values())


class Replay(NamedTuple):
    """What a run of the program came to."""

    found: RunFacts
    seconds: float
    trouble: str = ""
    """How it ended, when that was not with exit code 0; empty: it was."""
    note: str = ""
    """What could not be changed, of what was to be; empty: nothing."""


class Verdict(NamedTuple):
    """Whether a change can be advised, as far as a run of it shows."""

    trial: Replay
    usual: Replay
    trouble: str = ""
    """Why it cannot be; empty: the program does what it did."""
    compared: str = _SAME
    """What was seen to be the same."""


def _moved(change: Change, edits: tuple[Edit, ...]) -> Change:
    """A change of a function, by the line at which it begins when the text is edited."""
    if isinstance(change, (Dynamic, Setting)):
        return change
    lines = {"line": line_after(edits, change.filename, change.line)}
    if isinstance(change, Decorate):
        path, line = change.decorated_filename, change.decorated_line
        lines["decorated_line"] = line_after(edits, path, line)
    return msgspec.structs.replace(change, **lines)


class Replays:
    """Runs the program of a recording with changes, each once."""

    timed: ClassVar[bool] = False
    """Whether their times are compared; see `plan_of`."""

    def __init__(
        self,
        recording: Recording,
        plan: Plan,
        seconds: float = SECONDS,
        progress: Progress | None = None,
    ) -> None:
        """
        Args:
            recording: what the runs are compared with.
            plan: what is run; the user has agreed to it.
            seconds: how long each run may take.
            progress: where it is said what runs, and where it can be given up.
        """
        self.recording = recording
        self.plan = plan
        self.sources = Sources(plan)
        self.files = Files(self.sources)
        self.recorded = facts_of(recording)
        """What the recording itself says, to compare what runs say with."""
        self._seconds = seconds
        self._progress = progress or Progress()
        self._known: dict[tuple[tuple[Edit, ...], tuple[Change, ...], int], Replay] = {}

    def lines(self, about: Any, /) -> Iterator[Line]:
        """What came of trying what can be done about something that an answer tells of."""
        raise NotImplementedError

    def after(self, way: Way, run: int = 1) -> Replay:
        """The program run again, changed in some way.

        Args:
            way: what is changed.
            run: 2 for a second run of the same, to see whether runs are alike.

        Raises:
            ReplayError: it cannot be.
        """
        key = (way.edits, way.changes, run)
        found = self._known.get(key)
        if found is None:
            self._progress.doing = f"with {way.words}" if way.words else "as it is"
            began = time.monotonic()
            texts = self.sources.edited(way.edits)
            changes = tuple(_moved(each, way.edits) for each in way.changes)
            with replayed(
                self.plan, changes, seconds=self._seconds, progress=self._progress, texts=texts
            ) as (again, trouble):
                notes = [event.text for event in again.events(kinds=(EventKind.NOTE,))]
                measured, spent = facts_of(again, way.edits), time.monotonic() - began
                found = self._known[key] = Replay(measured, spent, trouble, "; ".join(notes[:1]))
        return found

    def judged(self, way: Way, *, failing: bool = False) -> Verdict:
        """A change, tried: whether the program still does what it does.

        Args:
            way: what is changed.
            failing: the program fails as it is; it has to come to its end, and to print before
                what it does now.

        Raises:
            ReplayError: it cannot be tried.
        """
        usual, trial = self.after(AS_IT_IS), self.after(way)
        if trial.found.failed > usual.found.failed:
            return Verdict(trial, usual, f"it fails: {trial.found.message}")
        goes_on = failing and not (trial.trouble or trial.note)
        if not goes_on and trial.trouble != usual.trouble:
            return Verdict(trial, usual, trial.trouble or f"it no longer fails ({usual.trouble})")
        if trial.note:
            return Verdict(trial, usual, trial.note)
        lines, others = self._comparable(usual, goes_on), trial.found.printed
        if goes_on:
            others = others[: len(lines)]
        said = ""
        if not (lines or others):
            said = "it prints nothing that could be compared"
        elif lines == others:
            return Verdict(trial, usual, compared=_GOES_ON if goes_on else _SAME)
        elif lines != self._comparable(self.after(AS_IT_IS, 2), goes_on):
            said = "what it prints differs from run to run, and was not compared"
        if said:
            compared = _ENDS if goes_on else said
            return Verdict(trial, usual, said if way.unsafe else "", compared)
        was, now = next(pair for pair in zip_longest(lines, others) if pair[0] != pair[1])
        return Verdict(trial, usual, f"it PRINTS {_quoted(now)} instead of {_quoted(was)}")

    def _comparable(self, usual: Replay, goes_on: bool) -> tuple[str, ...]:
        """What a run as it is printed, as far as one is to print it that goes on where it fails:
        nothing, where the program catches what fails, and tells of it in words of its own."""
        lines = usual.found.printed
        if not goes_on:
            return lines
        return lines[: lines.index(_TRACEBACK)] if usual.trouble and _TRACEBACK in lines else ()


def facts_of(recording: Recording, edits: tuple[Edit, ...] = ()) -> RunFacts:
    """What is compared of a run.

    Args:
        recording: of the run.
        edits: with which it ran; lines are told as they were without.
    """
    items = compilations(recording)
    compiled = Counter(
        (item.name, item.filename, line_before(edits, item.filename, item.line))
        for item in items
        if item.outcome is Outcome.COMPILED
    )
    failed = [each for each in failures(recording) if each.compiling]
    times = CompileTimes(recording)
    said = ""
    if failed:
        failure = failed[0].failure
        words = (failure.exception, one_line(headline(failure.message)))
        said = clip(": ".join(filter(None, words)), _MESSAGE)
    return RunFacts(
        compiled=compiled,
        breaks=len(recording.graph_breaks()),
        graphs=len(graphs(recording)),
        instructions=sum(item.instructions for item in items),
        thrown_away=sum(
            bool(each.restart_reason) for item in items for each in recording.attempts(item.id)
        ),
        compiling=times.total if times.roots else None,
        served={
            (name, path, line_before(edits, path, line)): cost
            for (name, path, line), cost in call_costs(recording).items()
        },
        failed=len(failed),
        message=said,
        printed=tuple(_printed("".join(each.data for each in recording.output()))),
    )


def _quoted(line: str | None) -> str:
    return "nothing" if line is None else repr(clip(line, _TEXT))


def _printed(output: str) -> Iterator[str]:
    """The program's lines, without what torch logs and warns of, which comes and goes with the
    breaks."""
    warned = ours = raised = False
    for line in output.splitlines():
        bare = without_colours(line)
        if raised and bare.startswith("  "):
            continue  # where it was raised, which an edit moves
        raised = bare == _TRACEBACK
        ours = _OURS.match(bare) is not None or (ours and bare.startswith("    "))
        if ours:
            continue  # with its line of source, and marks below that
        if warned:
            warned = not bare.startswith("  ")  # the line of source that ends a warning
        elif _WARNING.match(bare):
            warned = True
        elif not _LOGGED.match(bare):
            yield line
