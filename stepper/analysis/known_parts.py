"""Whether there is such a part at all, of what nobody guards.

What is not there is guarded by nothing, like what is there and is not used: an answer must not make
the one look like the other. Which keys a dictionary has is recorded, and how long a list is. Which
attributes an object has is not: one is known by what reads it, or by what looks at it.
"""

from __future__ import annotations

import re
from itertools import pairwise

from stepper.analysis.guard_uses import entries, guards_of
from stepper.analysis.guarded import Guarded, words_of
from stepper.analysis.shapes import same
from stepper.analysis.sources import Path, meant, path_of, spelled
from stepper.client.text import first_names, plural
from stepper.model.trace import Translation
from stepper.model.value import Value
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_NAMED = re.compile(r"\.([A-Za-z]\w*)")
_INDEXED = re.compile(r"\[-?\d+\]")
_KEYED = frozenset({"dict", "OrderedDict"})
_OF_TENSORS = frozenset({"TENSOR_MATCH"})
_IN_A_ROW = frozenset({"list", "tuple"})
_MOST = 6


def where_absent(recording: Recording, found: Guarded, path: Path | None) -> str:
    """That a dictionary has no such key, or a list no such element; empty: it has, or that is not
    recorded."""
    if path is None or not _is_only_led_to(found) or not path.steps[-1].startswith("["):
        return ""
    owner = _described(recording, found.translation, path.before)
    if owner is None or owner.length != len(owner.items):
        return ""
    labels, step = [item.label for item in owner.items], path.steps[-1]
    if owner.type in _KEYED and step not in labels:
        has = f"its keys are {first_names([each[1:-1] for each in labels], _MOST)}"
        return _absent(
            path, f"{spelled(owner.source)} has no such key: {has if labels else 'it is empty'}"
        )
    at = int(step[1:-1]) if owner.type in _IN_A_ROW and _INDEXED.fullmatch(step) else 0
    if not -owner.length <= at < max(owner.length, 1):
        return _absent(path, f"{spelled(owner.source)} has {plural(owner.length, 'element')}")
    return ""


def _absent(path: Path, why: str) -> str:
    return f"{path} was not there when this was compiled, and no guard looks at that: {why}"


def not_known_to_be_there(recording: Recording, found: Guarded, path: Path | None) -> str:
    """That nothing which is recorded shows such an attribute; empty: something does."""
    named = _NAMED.fullmatch(path.steps[-1]) if path is not None and path.steps else None
    if named is None or path is None or not _is_only_led_to(found):
        return ""
    before = path.before.steps[-1] if path.before.steps else path.root
    if found.of_module or named[1] in recording.derived(_names):
        return ""
    if before.strip(".") + path.steps[-1] in recording.derived(_looked_at):
        return ""
    owner = _described(recording, found.translation, path.before)
    if any(guard.kind in _OF_TENSORS for guard in found.around) or (
        owner is not None and owner.type in _KEYED | _IN_A_ROW
    ):
        return ""  # what those have, Python or torch says
    return (
        f"whether {path.before} has an attribute {named[1]} is not recorded: no function of the "
        "program's that was compiled names it"
    )


def _is_only_led_to(found: Guarded) -> bool:
    """Whether guards look only at what leads to a value, and nothing else is known of it."""
    return bool(found.around) and not (
        found.near or found.inputs or found.unchecked or found.taken_back or found.is_call
    )


def _names(recording: Recording) -> frozenset[str]:
    """All that the program's instructions name in what was compiled."""
    own = (code for code in recording.codes() if not is_installed(code.filename))
    used = (row.argrepr for code in own for row in code.instructions)
    return frozenset(words_of(used))


def _looked_at(recording: Recording) -> frozenset[str]:
    """The attributes that guards look at, each as two steps, `config.depth`, of whatever."""
    found = set()
    for item in entries(recording):
        for guard in guards_of(recording, item):
            for path in meant(guard.source):
                for before, step in pairwise((path.root, *path.steps)):
                    found.add(f"{before.strip('.')}{step}")
    return frozenset(found)


def _described(recording: Recording, item: Translation, path: Path) -> Value | None:
    """The value with that source, as it was when the function had been traced; None: it is not
    recorded, or not known to the function any more."""
    attempts = recording.attempts(item.id)
    end = attempts[-1].last_moment if attempts else None
    if end is None or not recording.has(end):
        return None
    for value in recording.state(end).values.values():
        source = path_of(value.source) if value.source and not value.lazy else None
        if source is not None and same(path, source):
            return value
    return None
