"""Asks a recording everything that a report says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from stepper.analysis.break_changes import Remedy
from stepper.analysis.break_lines import cost_text
from stepper.analysis.breaks import causes
from stepper.analysis.guard_uses import entries
from stepper.analysis.questions import QUESTIONS
from stepper.analysis.reasons import Reason, reasons_of
from stepper.analysis.recompiles import recompilations
from stepper.analysis.skipped_frames import skipped
from stepper.analysis.walks import compilations, graphs
from stepper.client.frame_names import compiled_name
from stepper.client.names import program_name
from stepper.client.text import capitalized, time_text, value_line
from stepper.model.trace import Outcome, Phase, Translation, headline
from stepper.recording.reader import Recording
from stepper.report import contents
from stepper.report.compile_times import compile_times
from stepper.report.entries import Entries
from stepper.report.failed import failed
from stepper.report.fixed_sizes import all_sizes, fixed_size
from stepper.report.places import Places
from stepper.report.recompiled import recompiled
from stepper.report.room import MOST_TIMES, Room
from stepper.report.telling import NOTHING, Teller, Told
from stepper.report.timeline import timeline

_STACK = 8
_MOST_LINES = 200
_MOST_LOOKUPS = 1_000
"""Lookups and executions that are told of; a long run has one for each call."""


def gather(
    recording: Recording, *, name: str = "", redact: bool = False, room: Room | None = None
) -> contents.Report:
    """Everything that a report says.

    Args:
        recording: what is asked.
        name: what to call its file; empty: as it was opened.
        redact: leave out all text of the program.
        room: how long the report may be.

    Raises:
        RecordingError: the recording is damaged where it was read.
    """
    room = room or Room()
    teller = Teller(recording.facts.cwd, redact=redact)
    places = Places(recording, teller)
    walks = room.of("walks", (_walk(places, item) for item in _told_of(recording)))
    found = list(_causes(places))
    found_sizes = all_sizes(places)
    fixed = [size for size in found_sizes if size.value]
    made = entries(recording)
    cached = Entries(places, room, len(made))
    read = [cached.read(item) for item in made]
    return contents.Report(
        format=contents.FORMAT,
        about=_about(places, name or recording.path),
        totals=_totals(recording, read, found),
        walks=walks,
        timeline=timeline(places, room),
        causes=room.of("causes", found),
        failed=room.of("failed", failed(places)),
        fixed_sizes=room.of("fixed_sizes", (fixed_size(places, size) for size in fixed)),
        free_sizes=len(found_sizes) - len(fixed),
        skipped=room.of("skipped", _skipped(places)),
        recompiled=room.of("recompiled", recompiled(places)),
        entries=tuple(read),
        guard_kinds=room.of("guard_kinds", cached.kinds()),
        moments=room.of("moments", places.told()),
        left_out=room.left_out,
        times=compile_times(places),
        answers=() if redact else tuple(_answers(places)),
    )


def _answers(places: Places) -> Iterator[contents.Answer]:
    """The answers to questions that have no part here, where the engine knows what they ask for."""
    recording, tell = places.recording, places.tell
    for name, question in QUESTIONS.items():
        wanted = question.open and not question.in_report
        if wanted and question.fits(recording.facts.capabilities):
            lines = islice(question.answer()(recording), _MOST_LINES)
            told = tuple(tell.line(line.text) for line in lines)
            title = capitalized(question.title or question.summary)
            yield contents.Answer(name, title, told)


def _told_of(recording: Recording) -> list[Translation]:
    """Every compilation, and the first of the other walks."""
    every = recording.translations()
    others = [item.id for item in every if item.phase is not Phase.TRANSLATE][_MOST_LOOKUPS:]
    left_out = set(others)
    return [item for item in every if item.id not in left_out]


def _about(places: Places, name: str) -> contents.About:
    facts, tell = places.recording.facts, places.tell
    return contents.About(
        recording=tell.file(name),
        name=tell.name(program_name(facts)),
        program=tell.line(" ".join(facts.argv)),
        directory=tell.line(facts.cwd),
        started=tell.own(time_text(facts.started, utc=True) if facts.started else ""),
        ended=tell.words(places.recording.ended or ""),
        whole=places.recording.in_order,
        engine=tell.name(facts.engine),
        python=tell.name(facts.python),
        torch=tell.name(facts.torch),
        stepper=tell.name(facts.stepper),
        rank=facts.rank,
        oldest=places.recording.oldest,
        newest=places.recording.newest,
        redacted=tell.redact,
    )


def _totals(
    recording: Recording, cached: list[contents.Entry], found: list[contents.Cause]
) -> contents.Totals:
    frames = compilations(recording)
    again = recompilations(recording)
    refused = sum(bool(each.limit) for each in again)
    phases = [item.phase for item in recording.translations() if not item.by_hand]
    outcomes = [item.outcome for item in frames]
    return contents.Totals(
        frames=len(frames),
        compiled=outcomes.count(Outcome.COMPILED),
        skipped=outcomes.count(Outcome.SKIPPED),
        failed=outcomes.count(Outcome.FAILED),
        graphs=len(graphs(recording)),
        graph_breaks=sum(each.times for each in found),
        break_causes=len(found),
        recompilations=len(again) - refused,
        refused=refused,
        instructions=sum(item.instructions for item in frames),
        guards=sum(each.guard_count for each in cached),
        nodes=sum(each.node_count for each in cached),
        seconds=sum(item.seconds or 0.0 for item in frames),
        lookups=phases.count(Phase.LOOKUP),
        executions=phases.count(Phase.EXECUTE),
    )


def _walk(places: Places, item: Translation) -> contents.Walk:
    tell = places.tell
    made = item.outcome is Outcome.COMPILED
    again = next(iter(reasons_of(item)), Reason(""))
    return contents.Walk(
        id=item.id,
        phase=tell.own(item.phase),
        compile_id=tell.own(item.compile_id),
        name=tell.name(item.name),
        title=tell.name(compiled_name(places.recording, item)),
        where=places.where(item.filename, item.line),
        outcome=tell.own(item.outcome),
        reason=NOTHING if made else tell.words(headline(item.reason)),
        recompile_reason=tell.words(": ".join(filter(None, (again.entry, again.text)))),
        resume_of=tell.name(item.resume_of),
        called_by=tuple(map(places.frame, reversed(item.python_stack))),
        first_moment=places.moment(item.first_moment),
        last_moment=item.last_moment,
        attempts=item.attempts,
        instructions=item.instructions,
        guards=item.guards,
        nodes=item.nodes,
        graph_breaks=item.graph_breaks,
        seconds=item.seconds,
        level=item.level,
        thread=tell.name(item.thread),
        by_hand=item.by_hand,
    )


def _causes(places: Places) -> list[contents.Cause]:
    tell = places.tell
    return [
        contents.Cause(
            kind=tell.kind(cause.kind),
            then=tell.kind(cause.then),
            where=contents.Where(NOTHING) if cause.place is None else places.frame(cause.place),
            source=tell.line(cause.source),
            cost=tell.own(cost_text(cause)),
            instructions=cause.cost,
            change=_change(tell, cause.change),
            explanation=tell.words(cause.explanation),
            context=tell.words(cause.context),
            hints=tuple(filter(None, map(tell.words, cause.hints))),
            page=tell.page(cause.page),
            instruction=(
                places.instruction(cause.instruction) if cause.instruction is not None else NOTHING
            ),
            stack=tuple(_stack(places, cause.moment)),
            moment=places.moment(cause.moment),
            times=len(cause.occurrences),
            occurrences=tuple(
                contents.Occurrence(
                    walk=each.translation.id,
                    resumes=each.splits,
                    moment=places.moment(each.found.moment),
                    user_stack=tuple(map(places.frame, each.found.user_stack)),
                    resumed=tuple(item.id for item in each.resumed),
                )
                for each in cause.occurrences[:MOST_TIMES]
            ),
        )
        for cause in causes(places.recording)
    ]


def _change(tell: Teller, change: Remedy | None) -> Told:
    return NOTHING if change is None else tell.kind(change.naming(str(tell.line(change.source))))


def _stack(places: Places, moment: int) -> list[Told]:
    """The symbolic stack of a moment, the top first."""
    recording, tell = places.recording, places.tell
    if not recording.has(moment):
        return []
    state = recording.state(moment)
    values = [state.values.get(each) for each in reversed(state.top.stack[-_STACK:])]
    if not tell.redact:
        return [tell.own(value_line(value)) for value in values]
    return [
        tell.own("  ".join(filter(None, map(tell.name, (value.type or value.cls, value.node)))))
        if value is not None
        else tell.own(value_line(None))
        for value in values
    ]


def _skipped(places: Places) -> list[contents.Skipped]:
    tell = places.tell
    return [
        contents.Skipped(
            name=tell.name(each.name),
            where=places.where(each.filename, each.line),
            reason=tell.words(each.reason),
            times=each.times,
            wasted=each.wasted,
            moment=places.moment(each.moment),
        )
        for each in skipped(places.recording)
    ]
