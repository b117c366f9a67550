"""Functions that were compiled again, as a report tells them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stepper.analysis import recompiles, unmet_guards
from stepper.analysis.advice import spelling_in
from stepper.analysis.handed_on import Spelling
from stepper.analysis.recompile_advice import advise
from stepper.analysis.recompile_lines import failure_text, limit_text, series_text, spelling_of
from stepper.analysis.recompile_series import History, Series, histories
from stepper.analysis.sources import spelled
from stepper.client.frame_names import common_name
from stepper.model.datum import Datum, Words, text_of
from stepper.model.lookup import Difference
from stepper.report import contents
from stepper.report.places import Places
from stepper.report.room import MOST_TIMES
from stepper.report.telling import NOTHING, Teller

_SAFE = frozenset(
    {
        "size",
        "stride",
        "dtype",
        "rank",
        "requires_grad",
        "device",
        "length",
        "type",
        "dispatch keys",
    }
)  # fmt: skip
"""What differs of a tensor, or of a type: no constant of the program."""


def recompiled(places: Places) -> Iterator[contents.Recompiled]:
    """Each function that was compiled again; what took most time comes first."""
    recording, tell = places.recording, places.tell
    for history in histories(recording, recompiles.recompilations(recording)):
        count = len(history.recompilations)
        yield contents.Recompiled(
            name=tell.name(common_name(places.recording, history.walks)),
            where=places.where(history.filename, history.line),
            entries=history.entries,
            seconds=history.seconds,
            series=tuple(
                tell.own(series_text(_series(tell, each), count, _naming(places, history, each)))
                for each in history.series
            ),
            limit=tell.own(limit_text(history)) if history.limit is not None else tell.own(""),
            advice=tuple(_advice(places, history)),
            times=sum(each.result == "compiled" for each in history.recompilations),
            recompilations=tuple(
                _recompilation(places, each) for each in history.recompilations[:MOST_TIMES]
            ),
        )


def _advice(places: Places, history: History) -> Iterator[contents.Advice]:
    for each in advise(places.recording, history):
        yield contents.Advice(places.tell.kind(each.text), places.tell.words(each.evidence))


def _recompilation(places: Places, found: recompiles.Recompilation) -> contents.Recompilation:
    item = found.translation
    moment = found.lookup.first_moment if found.lookup is not None else item.first_moment
    return contents.Recompilation(
        walk=item.id,
        refused=bool(found.limit),
        result=places.tell.own(found.result),
        moment=places.moment(moment),
        tried=tuple(
            contents.Tried(
                entry=places.tell.own(tried.entry),
                walk=tried.translation,
                failures=tuple(
                    _failure(places, each, _spelling(places, tried)) for each in tried.failures
                ),
            )
            for tried in found.tried
        ),
    )


def _naming(places: Places, history: History, series: Series) -> Spelling:
    # The names inside are code, which a redacted report has none of.
    return spelled if places.tell.redact else spelling_in(places.recording, history, series)


def _spelling(places: Places, tried: recompiles.Tried) -> Spelling:
    # The names inside are code, which a redacted report has none of.
    return spelled if places.tell.redact else spelling_of(places.recording, tried)


def _failure(places: Places, failure: unmet_guards.Failure, spell: Spelling) -> contents.Failure:
    tell, origin = places.tell, failure.origin
    line = failure.user_line or (origin.line if origin is not None else None)
    known = "unguarded" if failure.unguarded else "behind" if failure.behind else "recorded"
    return contents.Failure(
        text=tell.own(failure_text(_shown(tell, failure), spell)),
        kind=tell.name(failure.kind),
        source=tell.source(failure.source),
        known=tell.own(known),
        because_of=None if line is None else places.frame(line.place),
        because_text=NOTHING if line is None else tell.line(line.text),
        guard=origin.guard if origin is not None else None,
        moment=None if failure.moment is None else places.moment(failure.moment),
        installed=(
            places.moment(origin.moment)
            if origin is not None and origin.instruction is not None
            else None
        ),
    )


def _shown(tell: Teller, failure: unmet_guards.Failure) -> unmet_guards.Failure:
    """A failure that says no more than may be told."""
    if not tell.redact:
        return failure
    differences = tuple(
        Difference(
            each.what if each.what in _SAFE else tell.kind(each.what),
            _value(tell, each.what, each.expected),
            _value(tell, each.what, each.actual),
            each.at,
        )
        for each in failure.differences
    )
    return msgspec.structs.replace(
        failure,
        source=tell.source(failure.source),
        differences=differences,
        words=tell.words(failure.text),
        find_text=None,
    )


def _series(tell: Teller, series: Series) -> Series:
    """A series that says no more than may be told."""
    if not tell.redact:
        return series
    return msgspec.structs.replace(
        series,
        source=tell.source(series.source),
        values=tuple(_value(tell, series.aspect.what, value) for value in series.values),
    )


def _value(tell: Teller, what: str, value: Datum) -> Datum:
    if type(value) is int and what in _SAFE:
        return value
    text = text_of(value)
    return Words(tell.sizes(text) if what in _SAFE else tell.constant(text))
