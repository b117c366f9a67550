"""Where a function that a higher-order operator is given writes into what is not its own, which
torch.cond and the like do not allow: torch's message names the value, and the line is that of the
operator."""

from __future__ import annotations

import re

from stepper.model.trace import MomentId
from stepper.recording.reader import Recording

IN_PLACE = re.compile(r"(?:[\w.]*[a-z0-9]_|operator\.(?:i\w+|setitem))")
"""How operators are called that write into what they are given."""
_WRITTEN = re.compile(r"Input mutation detected at \[(?P<inputs>[\w, ]+)\] in")
_CHANGED = re.compile(r"Attribute '(?P<attribute>\w+)' on an outer-scope object was changed")


def written_inside(recording: Recording, message: str, attempt: int) -> MomentId | None:
    """Where something is first written into what an operator's function is given, or to an
    attribute of what is outside of it; None: torch says nothing of the kind, or it is not
    recorded."""
    if (said := _WRITTEN.search(message)) is not None:
        given = set(said["inputs"].split(", "))
        nodes = (node for node in recording.nodes(None, attempt=attempt) if node.graph)
        writing = (node for node in nodes if IN_PLACE.fullmatch(node.target))
        return next((node.moment for node in writing if given & {*node.inputs[:1]}), None)
    if (said := _CHANGED.search(message)) is not None:
        changed = f".{said['attribute']}"
        effects = recording.side_effects(None, attempt=attempt)
        return max((each.moment for each in effects if each.name.endswith(changed)), default=None)
    return None
