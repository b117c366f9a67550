"""Compilations that failed, as a report tells them."""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis import failures
from stepper.analysis.failed_lines import not_known_text, operand_text, raised_in, stage_text
from stepper.report import contents
from stepper.report.places import Places
from stepper.report.telling import NOTHING, Told

_MOST_LINES = 200


def failed(places: Places) -> Iterator[contents.Failed]:
    """Each of them, in order."""
    tell = places.tell
    for each in failures.failures(places.recording):
        failure, item = each.failure, each.translation
        lines = failure.message.strip().splitlines()
        sites = each.sites if each.certain else ()
        yield contents.Failed(
            walk=None if item is None else item.id,
            compile_id=tell.own(each.compile_id),
            name=tell.name(each.name),
            stage=tell.own(stage_text(failure.stage)),
            exception=tell.name(failure.exception),
            message=() if tell.redact else tuple(map(tell.line, lines[:_MOST_LINES])),
            where=None if each.place is None or not each.certain else places.frame(each.place),
            source=tell.line(each.text) if each.certain and each.text else NOTHING,
            instruction=places.instruction(sites[0].instruction) if sites else NOTHING,
            stack=tuple(_operands(places, each)),
            note=tell.own(not_known_text(each)),
            called_from=tuple(places.frame(site.line.place) for site in sites[1:]),
            called_by=tuple(map(places.frame, reversed(each.callers))),
            raised=tuple(map(places.frame, raised_in(each))),
            moment=places.moment(each.moment),
        )


def _operands(places: Places, failed: failures.Failed) -> Iterator[Told]:
    found = failures.operands(places.recording, failed)
    if not found:
        return
    tell, state = places.tell, places.recording.state(failed.sites[0].moment)
    for each in found:
        value = state.values.get(each.value)
        if not tell.redact:
            yield tell.own(operand_text(places.recording, failed, value, each))
        elif value is not None:
            words = map(tell.name, (value.type or value.cls, value.node))
            yield tell.own("  ".join(filter(None, words)))
