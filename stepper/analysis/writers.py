"""Which other compiled function sets a global, or an attribute of `self`, that a function is
guarded by.

What the program's plain code sets is not recorded. What compiled code sets is: Dynamo buffers it,
to do it after the graph.
"""

from __future__ import annotations

from stepper.analysis.sites import program_line
from stepper.analysis.sources import Path, path_of
from stepper.analysis.walks import compilations
from stepper.model.program import UserLine
from stepper.model.trace import MomentId, Outcome, SideEffect, Translation
from stepper.recording.reader import Recording

_LAZY_CONSTANT = "LazyConstantVariable"
"""The tracker of a constant that nothing has needed yet."""
_SELF = "self"
_Found = list[tuple[Path, Translation, SideEffect]]


def set_elsewhere(
    recording: Recording, source: str, read_by: Translation
) -> tuple[MomentId, UserLine] | None:
    """The line by which another function, compiled before, sets what a function of the same file
    is guarded by, or another method of its class; None: it is neither a global nor of `self`, or no
    such line is recorded."""
    path = path_of(source)
    if path is None:
        return None
    for changed, item, effect in recording.derived(_set_by_each).get(read_by.filename, ()):
        before = item.first_moment < read_by.first_moment and item.code != read_by.code
        there = path.globally or _of_one_class(path, item, read_by)
        if before and there and changed.leads_to(path):
            line = program_line(recording, effect.moment)
            return None if line is None else (effect.moment, line)
    return None


def _of_one_class(path: Path, *methods: Translation) -> bool:
    """Whether it is an attribute of `self`, and all are methods of one class."""
    classes = {each.name.rpartition(".")[0] for each in methods}
    return path.root == _SELF and len(classes) == 1 and "" not in classes


def _set_by_each(recording: Recording) -> dict[str, _Found]:
    """What compiled code sets of the globals of each file, and of its methods' objects."""
    found: dict[str, _Found] = {}
    for item in compilations(recording):
        attempts = recording.attempts(item.id) if item.outcome is Outcome.COMPILED else []
        for attempt in attempts[-1:]:
            for effect in recording.side_effects(None, attempt=attempt.id):
                path = _set_by(recording, effect)
                if path is not None and (path.globally or path.root == _SELF):
                    found.setdefault(item.filename, []).append((path, item, effect))
    return found


def _set_by(recording: Recording, effect: SideEffect) -> Path | None:
    if effect.kind != "mutation":
        return path_of(effect.name) if effect.kind != "hook" else None
    return stored_at(recording, effect)


def stored_at(recording: Recording, effect: SideEffect) -> Path | None:
    """The element of a container that a change puts a value into, where its key is a constant."""
    key = key_set(recording, effect)
    return path_of(f"{effect.name}[{key}]") if key else None


def key_set(recording: Recording, effect: SideEffect) -> str:
    """The key under which a change puts a value, where it is a constant, as it is written; empty:
    it is another change."""
    if effect.kind != "mutation" or not recording.has(effect.moment):
        return ""
    state = recording.state(effect.moment)
    row = recording.code(recording.frame(state.moment.frame).code).instructions[state.moment.ip]
    key = state.values.get(state.top.stack[-1]) if state.top.stack else None
    if row.opname != "STORE_SUBSCR" or key is None:
        return ""
    return key.text if key.cls == _LAZY_CONSTANT else key.constant or ""
