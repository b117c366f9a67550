"""Inputs of which several elements are one place in memory, and what writes into them.

AOTAutograd writes into inputs at the end of its graph, once for all that did so, and the error that
is raised there names none of it. Which input is expanded, its strides say; what writes into it, the
graph that AOTAutograd was given.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.break_changes import Remedy
from stepper.analysis.failures import Failed
from stepper.analysis.sites import site_at
from stepper.analysis.sources import spelled
from stepper.analysis.written_inside import IN_PLACE
from stepper.client.text import place_text
from stepper.model.trace import MomentId, Node
from stepper.model.value import TensorMeta
from stepper.recording.reader import Recording

_SAID = "more than one element of the written-to tensor refers to a single memory location"
_ONE_AT_MOST = ("0", "1")
"""Sizes of which no two elements are one place."""


def change_of_expanded(recording: Recording, failed: Failed) -> Remedy | None:
    """What to do where the graph writes into an input that is expanded; None: it failed otherwise,
    or nothing of the kind is recorded."""
    if _SAID not in failed.failure.message or failed.translation is None:
        return None
    for attempt in recording.attempts(failed.translation.id)[-1:]:
        for source, moment in _written(recording.nodes(None, attempt=attempt.id)):
            if (site := site_at(recording, moment)) is not None:
                where = place_text(site.line.place, recording.facts.cwd)
                return Remedy.telling(
                    f"{spelled(source)} is expanded, so that several of its elements are one place "
                    f"in memory, and {where} writes into it: hand over its clone(), or make a new "
                    "tensor there in place of writing into that"
                )
    return None


def _written(nodes: list[Node]) -> Iterator[tuple[str, MomentId]]:
    """The sources of expanded inputs, and where they are written into: by a method, by an operator
    as `+=`, or as an item is assigned."""
    expanded = {
        node.name: node.source
        for node in nodes
        if node.op == "placeholder" and node.source and node.meta and _is_expanded(node.meta)
    }
    for node in nodes:
        target = next((name for name in node.inputs[:1] if name in expanded), None)
        if target is not None and IN_PLACE.fullmatch(node.target):
            yield expanded[target], node.moment


def _is_expanded(tensor: TensorMeta) -> bool:
    strides = tensor.stride or ()
    return any(
        stride == "0" and size not in _ONE_AT_MOST
        for size, stride in zip(tensor.shape or (), strides, strict=False)
    )
