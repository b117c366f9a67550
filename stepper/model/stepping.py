"""How far a movement goes: one definition, used live by the controller and backwards by the reader.

A movement starts at a place (frame, depth, line) and looks at each further moment in one direction.
A direction is a value and not a second function: `Goal.reached` is asked about moments in the order
in which the direction visits them.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Motion(StrEnum):
    """What the user asked for, in pdb's words where pdb has one."""

    STEP = "step"
    """One instruction, into inlined calls."""
    NEXT = "next"
    """One instruction of this frame, over inlined calls."""
    LINE = "line"
    """To another source line of this frame, or out of the frame."""
    FINISH = "finish"
    """Out of this frame: to its caller."""
    UNTIL = "until"
    """To a line greater than this one, in this frame, or out of the frame."""
    CONTINUE = "continue"
    """To the next breakpoint."""


class Place(msgspec.Struct, frozen=True):
    """What a goal needs to know of a moment."""

    attempt: int
    frame: int
    depth: int
    line: int | None
    thread: str = ""
    level: int = 0
    """`Translation.level` of the walk that it belongs to."""


class Goal(msgspec.Struct, frozen=True):
    """A motion begun at a place."""

    motion: Motion
    origin: Place
    line: int | None = None
    """For UNTIL: the line to reach; without it, any line greater than the origin's."""

    def reached(self, place: Place) -> bool:
        """Whether a movement that visits `place` (never the origin itself) is at its end.

        A place in another attempt ends every motion but STEP's trivial case and CONTINUE: the frame
        that the motion was about is gone, and running on silently would skip what the user wants to
        see. Unless that other attempt lies within this one (a call of transformed code that leads
        to a lookup, a compilation, an execution of its own) or is another thread's: then the frame
        is still there, and such places are passed over."""
        origin = self.origin
        if self.motion is Motion.CONTINUE:
            return False
        if self.motion is Motion.STEP:
            return True
        if place.attempt != origin.attempt:
            return place.thread == origin.thread and place.level <= origin.level
        if place.depth < origin.depth:
            return True
        if self.motion is Motion.FINISH or place.depth > origin.depth:
            return False
        if place.frame != origin.frame:
            return True
        if self.motion is Motion.NEXT:
            return True
        if place.line is None:
            return False
        if self.motion is Motion.LINE:
            return place.line != origin.line
        wanted = self.line if self.line is not None else (origin.line or 0) + 1
        return place.line >= wanted
