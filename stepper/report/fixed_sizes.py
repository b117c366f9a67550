"""Sizes that were fixed, as a report tells them."""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.handed_on import spelled_inside
from stepper.analysis.shape_lines import decision_text
from stepper.analysis.shapes import Size, sizes
from stepper.model.shapes import ShapeStep
from stepper.report import contents
from stepper.report.places import Places
from stepper.report.telling import NOTHING


def all_sizes(places: Places) -> list[Size]:
    """Every size and number that was to be a symbol."""
    recording = places.recording
    return [size for item in recording.translations() for size in sizes(recording, item)]


def fixed_size(places: Places, size: Size) -> contents.FixedSize:
    """What the report says of a size that is a number."""
    tell, item = places.tell, size.translation
    chain = size.fixed_by or ((size.number,) if size.number is not None else ())
    return contents.FixedSize(
        walk=item.id,
        compile_id=tell.own(item.compile_id),
        name=tell.name(item.name),
        size=tell.code(spelled_inside(places.recording, item, size.source)),
        value=tell.constant(size.value),
        symbol=NOTHING if size.symbol is None else tell.own(size.symbol.name),
        why=tell.own(str(size.why)),
        decisions=tuple(_decisions(places, chain)),
    )


def _decisions(places: Places, chain: tuple[ShapeStep, ...]) -> Iterator[contents.Decision]:
    for step in chain:
        stack = step.program_stack
        yield contents.Decision(
            text=places.tell.code(decision_text(step)),
            stage=places.tell.own(str(step.stage)),
            where=places.frame(stack[-1]) if stack else None,
            moment=places.moment(step.moment),
        )
