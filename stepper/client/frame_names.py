"""What a frame is called: by its place in the model and its class, where that is recorded
(`stepper.model.method_names`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from stepper.client.names import brief_function, brief_source
from stepper.client.text import BY_HAND, function_name, one_line, short_name, walk_name
from stepper.model.method_names import LOCALS, Owner, method_name, walk_label
from stepper.model.resume_names import resumed_name
from stepper.model.trace import Event, EventKind, Phase, Translation
from stepper.recording.reader import Recording

_LOCAL_NAME = re.compile(r"(?<![\w.])[\w.]+(?:\.<locals>(?:\.(?:\w+|<\w+>))+)+")
"""The qualified name of a function within another one."""


def frame_name(recording: Recording, frame: int) -> str:
    """A frame's: `decoder.block[7] T5Block.forward`; the qualified name alone where its `self` is
    no module. The outermost one of a lookup or an execution is named as the walk is."""
    found = recording.frame(frame)
    if not found.depth:
        walk = recording.translation(recording.attempt(found.attempt).translation)
        if walk.phase is not Phase.TRANSLATE:
            return compiled_name(recording, walk)
    return _named(recording.code(found.code).label, recording.owners.of(frame))


def compiled_name(recording: Recording, item: Translation) -> str:
    """A walk's, by its outermost frame: `GPT2LMHeadModel, wrapper of can_return_tuple`."""
    within = LOCALS in item.name or LOCALS in item.resume_of
    owner = recording.owners.of_walk(item) if within else None
    name = _label(item.name, item.resume_of, owner)
    return name + BY_HAND if item.by_hand else name


@lru_cache(maxsize=4096)
def _label(name: str, resume_of: str, owner: Owner | None) -> str:
    return short_name(walk_label(name, resume_of, owner))  # of thousands of walks mostly the same


def common_name(recording: Recording, items: Iterable[Translation]) -> str:
    """That of walks of one function: its qualified name where they are called by several names, as
    a decorator's function is by those of all that it wraps."""
    walks = [*items]
    names = {compiled_name(recording, each) for each in walks}
    return names.pop() if len(names) == 1 else _label(walks[0].name, walks[0].resume_of, None)


def brief_compiled_name(recording: Recording, item: Translation) -> str:
    """A walk's name for a list or a title, without the functions around it."""
    return brief_function(compiled_name(recording, item))


def compiled_title(recording: Recording, item: Translation) -> str:
    """`0/0 Net.forward`."""
    return f"{item.compile_id or '-'} {compiled_name(recording, item)}"


def walk_title(recording: Recording, item: Translation) -> str:
    """`0/0 Net.forward`, `execute 0/0 Net.forward`, `lookup Net.forward`."""
    return f"{walk_name(item)} {compiled_name(recording, item)}"


def event_text(recording: Recording, event: Event) -> str:
    """What an event says, by the names that functions are shown by; of a call that is inlined, and
    of its return, whose frame it is."""
    inlined = event.kind is EventKind.INLINE
    moment = event.moment + inlined
    if (inlined or event.kind is EventKind.RETURN) and recording.has(moment):
        frame = recording.frame(recording.moment(moment).frame)
        if recording.code(frame.code).label == event.text:
            return brief_function(frame_name(recording, frame.id))
    text = one_line(event.text)
    if event.kind is EventKind.GUARD:
        return with_shown_names(recording, brief_source(text))
    return with_shown_names(recording, short_name(text))


def with_shown_names(recording: Recording, text: str) -> str:
    """A text with functions in it by the names that they are shown by."""
    if LOCALS not in text:
        return resumed_name(text)

    def shown(match: re.Match[str]) -> str:
        return brief_function(_named(match[0], recording.owners.of_name(match[0])))

    return resumed_name(_LOCAL_NAME.sub(shown, text))


def _named(label: str, owner: Owner | None) -> str:
    return function_name(method_name(label, owner))
