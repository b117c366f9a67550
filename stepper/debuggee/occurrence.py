"""What happens besides instructions, as far as a breakpoint can stop at it."""

from __future__ import annotations

import msgspec

from stepper.model.breakpoint import BreakpointKind
from stepper.model.method_names import Owner
from stepper.model.trace import EventKind


class Subject(msgspec.Struct, kw_only=True, frozen=True):
    """What an occurrence is about: the fields that a breakpoint's globs look at, each empty when it
    does not apply."""

    kind: str = ""
    """A guard's kind."""
    source: str = ""
    """The guarded expression, or what a symbol stands for."""
    target: str = ""
    """A node's target."""
    name: str = ""
    """A node's name, a symbol or an expression of symbols, or the name of a function."""
    resume_of: str = ""
    """The name of the function that this one continues."""
    owner: Owner | None = None
    """Whose method the function is."""


NO_SUBJECT = Subject()
"""The subject of an occurrence that is about itself."""

BREAKPOINT_OF_EVENT: dict[EventKind, BreakpointKind] = {
    EventKind.GRAPH_BREAK: BreakpointKind.GRAPH_BREAK,
    EventKind.SKIP: BreakpointKind.SKIP,
    EventKind.GUARD: BreakpointKind.GUARD,
    EventKind.NODE: BreakpointKind.NODE,
    EventKind.SYMBOL: BreakpointKind.SYMBOL,
    EventKind.SHAPE_GUARD: BreakpointKind.SHAPE_GUARD,
    EventKind.SPECIALIZE: BreakpointKind.SPECIALIZE,
    EventKind.DATA_DEPENDENT: BreakpointKind.DATA_DEPENDENT,
    EventKind.INLINE: BreakpointKind.INLINE,
    EventKind.RESTART: BreakpointKind.RESTART,
    EventKind.RECOMPILE: BreakpointKind.RECOMPILE,
    EventKind.CACHE_LIMIT: BreakpointKind.CACHE_LIMIT,
    EventKind.EXCEPTION: BreakpointKind.EXCEPTION,
    EventKind.LOOKUP: BreakpointKind.LOOKUP,
    EventKind.GUARD_FAIL: BreakpointKind.GUARD_FAIL,
    EventKind.HIT: BreakpointKind.HIT,
    EventKind.MISS: BreakpointKind.MISS,
    EventKind.ENTRY: BreakpointKind.ENTRY,
    EventKind.INVALIDATE: BreakpointKind.INVALIDATE,
    EventKind.EVICT: BreakpointKind.EVICT,
    EventKind.EXECUTE: BreakpointKind.EXECUTE,
}
"""Which breakpoint stops at which occurrence; events of other kinds never stop."""
