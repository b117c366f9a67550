"""Guards put to the test: the program of a recording runs again, and stops where an entry begins to
run whose guard is in question; there the program is asked for a witness.

It is a front end like another one, without a person: breakpoints, stops and requests are the same.
"""

from __future__ import annotations

import os
import queue
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as TookTooLong
from functools import partial

import msgspec

from stepper.client.events import Ended, SessionEvent
from stepper.client.plan import Plan
from stepper.client.replay import Progress, running
from stepper.client.session import Session
from stepper.model.breakpoint import Breakpoint, BreakpointKind
from stepper.model.cache import CacheListing, EntryView, WitnessSearch
from stepper.model.control import FindWitness, InspectEntry, ListCache, Request, Response, Stopped


class Question(msgspec.Struct, frozen=True):
    """A guard of an entry, as a recording names it."""

    compile_id: str
    function: str
    """The qualified name of the entry's function."""
    leaves: tuple[str, ...]
    """The kinds of the rows that are this guard's."""
    source: str


class Answer(msgspec.Struct, frozen=True):
    """What came of a question."""

    question: Question
    searches: tuple[WitnessSearch, ...] = ()
    trouble: str = ""
    """Why it could not be asked; empty: it was."""


def experiments(
    plan: Plan,
    questions: tuple[Question, ...],
    *,
    seconds: float,
    progress: Progress | None = None,
) -> Iterator[Answer]:
    """Run the program again, and ask; an answer comes as soon as it is there.

    Args:
        plan: what is run; the user has agreed to it.
        questions: what is asked.
        seconds: after which the program is killed.
        progress: where it is said what runs, and where it can be given up.

    Raises:
        ReplayError: the program cannot be run again, or was given up.
    """
    progress = progress or Progress()
    progress.doing = "until its entries run"
    functions = dict.fromkeys(each.function for each in questions)
    breakpoints = tuple(Breakpoint(BreakpointKind.EXECUTE, pattern=name) for name in functions)
    with tempfile.TemporaryDirectory(prefix="stepper-experiment-") as folder:
        spec = msgspec.structs.replace(
            plan.spec,
            recording=os.path.join(folder, "run.stepper"),
            breakpoints=breakpoints,
            detail="stops",
            echo=False,
        )
        with running(spec, plan, progress) as session:
            for answer in _ask(session, list(questions), time.monotonic() + seconds):
                progress.check()
                yield answer


def _ask(session: Session, open_questions: list[Question], until: float) -> Iterator[Answer]:
    events: queue.SimpleQueue[SessionEvent] = queue.SimpleQueue()
    session.subscribe(events.put)
    why = "the program, run again, did not run this entry"
    while open_questions:
        try:
            event = events.get(timeout=max(until - time.monotonic(), 0))
        except queue.Empty:
            why = "the program, run again, took too long"
            break
        if isinstance(event, Ended):
            break
        if not isinstance(event, Stopped):
            continue
        here = [each for each in open_questions if _begins(event, each)]
        for each in here:
            open_questions.remove(each)
            yield _answer(session, each, until)
        if open_questions:
            session.resume()
    for each in open_questions:
        yield Answer(each, trouble=why)


def _begins(stopped: Stopped, question: Question) -> bool:
    """Whether the program stands where the question's entry begins to run."""
    return stopped.text == f"{question.compile_id} {question.function}"


def _answer(session: Session, question: Question, until: float) -> Answer:
    def ask(make: Callable[[int], Request]) -> Response:
        return session.request(make).result(max(until - time.monotonic(), 1))

    try:
        listing = ask(lambda seq: ListCache(seq, question.function)).data
        numbers = [
            entry.id
            for code in (listing.codes if isinstance(listing, CacheListing) else ())
            for entry in code.entries
            if entry.compile_id == question.compile_id and entry.position is not None
        ]
        if not numbers:
            return Answer(question, trouble="the program, run again, has no such entry")
        number = numbers[0]
        view = ask(lambda seq: InspectEntry(seq, number)).data
        rows = [
            row.index
            for row in (view.guards if isinstance(view, EntryView) else ())
            if row.kind in question.leaves and row.source in (question.source, "")
        ]
        found = []
        for at in rows:
            response = ask(partial(_find, number, at))
            if isinstance(response.data, WitnessSearch):
                found.append(response.data)
            elif not response.ok:
                return Answer(question, tuple(found), response.text)
    except TookTooLong:
        return Answer(question, trouble="the program did not answer in time")
    trouble = "" if found else "it made no check of its own"
    return Answer(question, tuple(found), trouble)


def _find(entry: int, row: int, seq: int) -> FindWitness:
    return FindWitness(seq, entry, row)
