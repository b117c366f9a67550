"""What Dynamo's message on a graph break says: its kinds, its reason in a line, its context.

The message begins with what was being traced, or with several lines of how the break is handled;
the reason stands behind that. Where a break happened while another was handled, both are in it.
"""

from __future__ import annotations

import re

from stepper.model.trace import GraphBreak

_INTRODUCTIONS = (
    "Encountered graph break when attempting to",
    "Failed to handle graph break gracefully",
    "Graph break encountered",
)
HANDLING = re.compile(r"\*\*\* While handling this graph break, another graph break occurred")
_CONTEXT = re.compile(r"^ *Developer debug context: *(\S.*(?:\n(?! *$).*)*)", re.MULTILINE)


def kinds_of(found: GraphBreak) -> tuple[str, ...]:
    """Dynamo's names for a break: of what happened first, then of what came of handling it."""
    kinds = [_kind(part) for part in HANDLING.split(found.reason)]
    if len(kinds) == 1 and found.gb_type:
        return (found.gb_type,)
    return tuple(filter(None, kinds)) or (found.gb_type,)


def reason_of(found: GraphBreak) -> str:
    """Why it broke, in a line: the kind, and of what has no kind of its own the words."""
    kinds = ", then ".join(kinds_of(found))
    words = "" if found.explanation else _kind(found.reason)
    return kinds if not words or words in kinds else f"{kinds}: {words}"


def explanation_of(found: GraphBreak) -> str:
    """Dynamo's explanation; of what has none its words, from where the reason stands."""
    if found.explanation:
        return found.explanation
    kind = _kind(found.reason)
    return found.reason[found.reason.index(kind) :] if kind != found.gb_type else ""


def context_of(found: GraphBreak) -> str:
    """What happened first, by which method of what, with which arguments; empty: it is not told."""
    if found.context:
        return found.context
    said = _CONTEXT.search(HANDLING.split(found.reason)[0])
    return said[1] if said else ""


def _kind(part: str) -> str:
    lines = (line.strip(" *:") for line in part.splitlines())
    named = (line for line in lines if line and not line.startswith(_INTRODUCTIONS))
    return next(named, "")
