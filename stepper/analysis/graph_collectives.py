"""The collectives in what ranks have compiled: where two have others, one waits for the other.

What was compiled is not yet what was run: see `stepper.analysis.collectives`. This is what is known
where torch's flight recorder said nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from stepper.analysis.walks import compilations
from stepper.model.trace import Outcome, Translation
from stepper.recording.reader import Recording

_OPERATORS = "_c10d_functional"
_WAIT = "wait_tensor"


class Collective(NamedTuple):
    """A collective in a graph."""

    name: str
    """The operator's, without its namespace."""
    of: Translation


def first_unlike(
    a: Recording, b: Recording
) -> tuple[int, Collective | None, Collective | None] | None:
    """The first collective, by its number from 1, that is another, or missing, in the graphs of one
    of two recordings; None: their graphs have the same."""
    pairs = itertools.zip_longest(_collectives(a), _collectives(b))
    for number, (mine, theirs) in enumerate(pairs, 1):
        if mine is None or theirs is None or mine.name != theirs.name:
            return number, mine, theirs
    return None


def _collectives(recording: Recording) -> Iterator[Collective]:
    """In the order in which they were compiled."""
    for item in compilations(recording):
        if item.outcome is not Outcome.COMPILED:
            continue
        for attempt in recording.attempts(item.id)[-1:]:
            for node in recording.nodes(None, attempt=attempt.id):
                module, _, name = node.target.rpartition(".")
                if module.endswith(_OPERATORS) and name != _WAIT:
                    yield Collective(name, item)
