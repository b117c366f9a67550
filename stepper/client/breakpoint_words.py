"""What a breakpoint can be about, in its written form, to be completed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from stepper.client.frame_names import compiled_name
from stepper.model.breakpoint import CACHE_KINDS, BreakpointKind
from stepper.model.trace import State
from stepper.recording.reader import Recording

_MOST = 500
"""How many are offered of a sort."""


def breakpoint_words(recording: Recording | None, state: State | None) -> Iterator[str]:
    """The kinds, then functions, files, guards, nodes and symbols: those of the moment that is
    looked at, and code that is recorded. Each once."""
    yield from dict.fromkeys(_words(recording, state))


def _words(recording: Recording | None, state: State | None) -> Iterator[str]:
    yield from map(str, BreakpointKind)
    if recording is None:
        return
    codes = list(islice(recording.codes(), _MOST))
    yield from (f"function:{code.label}" for code in codes)
    walks = recording.translations()[:_MOST]
    names = dict.fromkeys(compiled_name(recording, each) for each in walks if not each.by_hand)
    kinds = (BreakpointKind.FUNCTION, *sorted(CACHE_KINDS))
    yield from (f"{kind}:{name}" for kind in kinds for name in names)
    if state is not None:
        for path, name in recording.owners.within(state.attempt)[:_MOST]:
            yield f"function:{path or name}"
        moment = state.moment.id
        guards = dict.fromkeys(guard.kind for guard in recording.guards(moment))
        yield from (f"guard:{guard}" for guard in guards)
        targets = dict.fromkeys(node.target for node in recording.nodes(moment) if node.target)
        yield from (f"node:{target}" for target in islice(targets, _MOST))
        symbols = dict.fromkeys(step.symbol for step in recording.shape_steps(moment))
        yield from (f"symbol:{symbol}" for symbol in symbols if symbol)
    yield from (f"{os.path.basename(code.filename)}:" for code in codes)


def completions(words: list[str], before: str) -> tuple[list[str], int]:
    """The words that what was typed last can become, and how many of its characters they replace.

    A name can hold blanks (`hit:GPT2Model, wrapper of f`), so not only the last word is looked at:
    of what is behind one of the blanks, the longest that any begins with.
    """
    begins = [0, *(at + 1 for at, letter in enumerate(before) if letter == " ")]
    for at in begins:
        typed = before[at:]
        found = [word for word in words if word.startswith(typed)]
        if found and (typed or at == len(before)):
            return found, len(typed)
    return [], 0
