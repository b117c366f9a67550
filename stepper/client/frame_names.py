"""What a frame is called: by its place in the model and its class, where that is recorded.

Libraries wrap the methods of their modules, so the qualified name of what is compiled can be
`can_return_tuple.<locals>.wrapper`, once for every model there is. Whose method it is, is known
from its `self`.
"""

from __future__ import annotations

from stepper.client.names import brief_function
from stepper.client.text import BY_HAND, short_name
from stepper.model.trace import Phase, Translation
from stepper.recording.owners import Owner
from stepper.recording.reader import Recording

_LOCALS = ".<locals>"


def frame_name(recording: Recording, frame: int) -> str:
    """A frame's: `decoder.block[7] T5Block.forward`; the qualified name alone where its `self` is
    no module."""
    label = recording.code(recording.frame(frame).code).label
    return _named(label, recording.owners.of(frame))


def compiled_name(recording: Recording, item: Translation) -> str:
    """A walk's, by its outermost frame: `GPT2LMHeadModel, wrapper of can_return_tuple`."""
    owner = None
    if item.phase is Phase.TRANSLATE and _LOCALS in item.name and recording.has(item.first_moment):
        frame = recording.frame(recording.moment(item.first_moment).frame)
        if not frame.depth:
            owner = recording.owners.of(frame.id)
    return _named(item.name, owner) + (BY_HAND if item.by_hand else "")


def compiled_title(recording: Recording, item: Translation) -> str:
    """`0/0 Net.forward`."""
    return f"{item.compile_id or '-'} {compiled_name(recording, item)}"


def _named(label: str, owner: Owner | None) -> str:
    around, local, _ = short_name(label).partition(_LOCALS)
    if owner is None:
        return short_name(label)
    function = brief_function(label)
    if local and "." not in function:
        function = f"{owner.type}, {function} of {around}"
    elif not owner.path:
        return short_name(label)  # says the class itself
    return f"{owner.path} {function}".lstrip()
