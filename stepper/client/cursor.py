"""Where a person looks: one place in a recording, and the ways to another.

The same for every front end. Movement within what is recorded is instant and goes both ways. A
forward movement that needs more than there is lets the stopped program run on, when the cursor
stands at its newest moment; from an older one it goes to the newest first, since the program can
only be resumed from where it stands (`continue` is the exception: it does not depend on where it
begins).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from stepper.client.session import Session
from stepper.client.text import nothing_translated
from stepper.model.breakpoint import Breakpoint
from stepper.model.program import Code, Instruction
from stepper.model.stepping import Motion
from stepper.model.trace import Attempt, EventKind, Frame, State, Translation, headline
from stepper.recording import navigation
from stepper.recording.reader import Recording

_ENDING = 1.0
"""Seconds within which a program that hears nothing more should have ended."""

HISTORY = 200
"""How many places `back` remembers."""


class Move(msgspec.Struct, frozen=True):
    """What became of a wish to move."""

    kind: Literal["moved", "running", "refused"]
    moment: int
    """Where the cursor is now."""
    text: str = ""
    """Why it was refused, or what there is to say about the new place."""
    breakpoint: Breakpoint | None = None
    """The breakpoint at which `continue` stopped within the recording."""


class Cursor:
    """A position in a session's recording. Belongs to the front end's thread."""

    def __init__(self, session: Session, position: int = 0) -> None:
        self.session = session
        self.position = position
        """The moment shown; 0: there is none yet."""
        self._back: list[int] = []
        self._forward: list[int] = []
        self._state: State | None = None

    # -- what is there -------------------------------------------------------------------------

    @property
    def recording(self) -> Recording | None:
        """The session's recording; None until it exists."""
        return self.session.recording

    @property
    def newest(self) -> int:
        """The newest moment known, 0 when there is none."""
        recording = self.recording
        return recording.newest if recording is not None else 0

    @property
    def oldest(self) -> int:
        """The first moment that is recorded, 0 when there is none."""
        recording = self.recording
        return recording.oldest if recording is not None else 0

    @property
    def at_newest(self) -> bool:
        """Whether the cursor shows the newest moment, where the program stands."""
        return self.position == self.newest

    @property
    def at_stop(self) -> bool:
        """Whether the cursor shows where the program stands. That is the newest moment, unless
        something was stepped by hand at the stop."""
        stopped = self.session.stopped
        return stopped is not None and self.position == min(stopped.moment, self.newest)

    @property
    def state(self) -> State | None:
        """Everything at the position; None when there is no moment yet."""
        if self.position == 0:
            return None
        if self._state is None or self._state.moment.id != self.position:
            self._state = self._require().state(self.position)
        return self._state

    @property
    def frame(self) -> Frame | None:
        """The innermost frame at the position."""
        state = self.state
        return self._require().frame(state.moment.frame) if state is not None else None

    @property
    def code(self) -> Code | None:
        """The code that is interpreted at the position."""
        frame = self.frame
        return self._require().code(frame.code) if frame is not None else None

    @property
    def instruction(self) -> Instruction | None:
        """The instruction about to be interpreted at the position."""
        code, state = self.code, self.state
        return (
            code.instructions[state.moment.ip] if code is not None and state is not None else None
        )

    @property
    def attempt(self) -> Attempt | None:
        """The attempt that the position belongs to."""
        state = self.state
        return self._require().attempt(state.attempt) if state is not None else None

    @property
    def translation(self) -> Translation | None:
        """The translation that the position belongs to."""
        state = self.state
        return self._require().translation(state.translation) if state is not None else None

    def refresh(self) -> bool:
        """Look for newer moments; True when there are any."""
        recording = self.recording
        return recording.refresh() if recording is not None else False

    # -- movement along the program ------------------------------------------------------------

    def move(
        self, motion: Motion, direction: int, *, line: int | None = None, count: int = 1
    ) -> Move:
        """Move `count` times by a motion, +1 forward or -1 backward."""
        self.refresh()
        if self.position == 0:
            return self._run_on(motion, line, count) if direction > 0 else self._nothing()
        if direction > 0 and self.at_stop:
            return self._run_on(motion, line, count)
        if motion is Motion.CONTINUE:
            return self._continue(direction, count)
        if motion is Motion.STEP:
            # One instruction is one moment, so many steps are a sum.
            target = min(max(self.position + direction * count, self.oldest), self.newest)
            left = count - abs(target - self.position)
        else:
            target, left = self.position, count
            while left:
                found = navigation.move(self._require(), target, motion, direction, line=line)
                if found is None:
                    break
                target, left = found, left - 1
        if not left:
            return self._moved(target)
        if direction < 0:
            return self._at_first()
        return self._past_newest(motion, line, left, target)

    def _continue(self, direction: int, count: int) -> Move:
        breakpoints = [b for b in self.session.breakpoints_here if b.enabled]
        target, hit = self.position, None
        for done in range(count):
            found = navigation.find_break(self._require(), target, breakpoints, direction)
            if found is None:
                if direction > 0:
                    return self._continue_past(count - done)
                text = "no breakpoint before: this is the first moment"
                if self.position == self.oldest:
                    return Move("refused", self.position, text)
                return self._jumped(self.oldest, text)
            target, hit = found
        text = f"breakpoint {hit.id}: {hit}" if hit is not None else ""
        if hit is not None and (hit.condition or hit.ignore):
            text += " (not checked in what is recorded)"
        move = self._jumped(target, text)
        return msgspec.structs.replace(move, breakpoint=hit)

    def _continue_past(self, left: int) -> Move:
        if self.session.stopped is not None:
            return self._run_on(Motion.CONTINUE, None, left)
        if self.session.running:
            return self._is_running()
        text = f"no further breakpoint: {self._last_words()}"
        if self.at_newest:
            return Move("refused", self.position, text)
        return self._jumped(self.newest, text)

    def _past_newest(self, motion: Motion, line: int | None, left: int, target: int) -> Move:
        """A forward movement needs more than is recorded."""
        if self.session.running:
            return self._is_running()
        if self.session.stopped is None:
            if self.at_newest:
                return Move("refused", self.position, self._last_words())
            return self._moved(self.newest, self._last_words())
        if self.at_newest or (motion is Motion.STEP and target == self.newest):
            return self._run_on(motion, line, left)
        return self._moved(
            self.newest, "the newest moment: the program stands here, go on from here to run it"
        )

    def _run_on(self, motion: Motion, line: int | None, count: int) -> Move:
        """Resume the stopped program."""
        if not self.session.live:
            return self._nothing()
        if self.session.stopped is None:
            return self._is_running()
        self.session.resume(motion, line=line, count=count)
        return Move("running", self.position)

    def _at_first(self) -> Move:
        """A backward movement needs more than there is."""
        if self.position == self.oldest:
            return Move("refused", self.position, "at the first moment")
        return self._moved(self.oldest, "at the first moment")

    # -- jumps ---------------------------------------------------------------------------------

    def begin(self, at: int | None = None) -> Move | None:
        """Show the first place: where the program stands; of a recording the first moment, or the
        newest when the program that wrote it did not end in order. Then `at`, if it is given; what
        became of that is returned."""
        self.refresh()
        recording = self.recording
        if recording is None or not self.newest:
            return None
        if self.session.stopped is not None:
            self.arrived()
            return None
        orderly = not self.session.live and recording.in_order
        self.goto(1 if orderly else self.newest)
        return None if at is None else self.goto(at)

    def goto(self, moment: int) -> Move:
        """Show a moment by its number; one outside the recording is refused."""
        self.refresh()
        if self.newest == 0:
            return self._nothing()
        if not self.oldest <= moment <= self.newest:
            text = f"moments go from {self.oldest} to {self.newest}"
            return Move("refused", self.position, text)
        return self._jumped(moment)

    def goto_percent(self, percent: float) -> Move:
        """Show the moment at a percentage of the recording."""
        self.refresh()
        if self.newest == 0:
            return self._nothing()
        return self._jumped(navigation.by_percentage(self._require(), percent))

    def goto_written(self, text: str) -> Move:
        """Show the moment that a person has written down: `120`, `+5`, `-5` or `50%`."""
        text = text.strip().replace(",", "")
        try:
            if text.endswith("%"):
                return self.goto_percent(float(text[:-1]))
            return self.goto(int(text) + (self.position if text.startswith(("+", "-")) else 0))
        except ValueError:
            problem = f"{text!r} is no moment: write a number, +N, -N or N%"
            return Move("refused", self.position, problem)

    def event_counts(self) -> list[tuple[EventKind, int]]:
        """How many events of each kind there are, without the kinds that there are none of."""
        recording = self.recording
        if recording is None:
            return []
        counts = ((kind, recording.event_count(kinds=(kind,))) for kind in EventKind)
        return [(kind, count) for kind, count in counts if count]

    def to_newest(self) -> Move:
        """Show the newest moment, or where the program stands."""
        self.refresh()
        if self.newest == 0:
            return self._nothing()
        stopped = self.session.stopped
        stands = stopped.moment if stopped is not None else 0
        return self._jumped(min(stands, self.newest) or self.newest)

    def arrived(self) -> Move:
        """The program has stopped: show where."""
        stopped = self.session.stopped
        self.refresh()
        if stopped is None or stopped.moment == 0 or self.newest == 0:
            return self.to_newest()
        if stopped.moment > self.newest:  # the disk is full
            return self._jumped(
                self.newest,
                f"the program stands at moment {stopped.moment:,}, which could not be recorded: "
                f"this is the last one that was",
            )
        return self._jumped(stopped.moment, headline(stopped.text))

    def to_event(self, kinds: Iterable[EventKind], direction: int) -> Move:
        """Go to the next (+1) or previous (-1) event of some kinds."""
        self.refresh()
        if self.newest == 0:
            return self._nothing()
        wanted = tuple(kinds)
        event = self._require().next_event(self.position, wanted, direction)
        if event is None:
            names = " or ".join(wanted) or "event"
            side = "after" if direction > 0 else "before"
            return Move("refused", self.position, f"no {names} {side} this moment")
        # What happens outside of any instruction carries the number the next one would have had.
        return self._jumped(
            min(max(event.moment, self.oldest), self.newest), f"{event.kind}: {event.text}"
        )

    def to_node(self, name: str) -> Move:
        """Go to the moment whose instruction made a node of this attempt's graph."""
        state = self.state
        if state is None:
            return self._nothing()
        node = self._require().node(state.attempt, name)
        if node is None:
            return Move("refused", self.position, f"no node {name!r} in this attempt's graph")
        return self._jumped(self._in_attempt(node.moment), f"made {node.name}")

    def to_guard(self, guard: int) -> Move:
        """Go to the moment whose instruction installed a guard of this attempt."""
        state = self.state
        if state is None:
            return self._nothing()
        for known in self._require().guards_installed(state.attempt):
            if known.id == guard:
                text = f"installed {known.kind} {known.source}".rstrip()
                return self._jumped(self._in_attempt(known.moment), text)
        return Move("refused", self.position, f"no guard {guard} in this attempt")

    def to_value(self, value: int) -> Move:
        """Go to the moment after which a value's tracker first appeared in this attempt."""
        state = self.state
        if state is None:
            return self._nothing()
        moment = self._require().value_origin(state.attempt, value)
        if moment is None:
            return Move("refused", self.position, "this value was there when the attempt began")
        return self._jumped(moment)

    def back(self) -> Move:
        """Return to the place before the last jump."""
        return self._recall(self._back, self._forward, "no earlier place")

    @property
    def came_from(self) -> int | None:
        """The place before the last jump; None: there was none."""
        return next((place for place in reversed(self._back) if place != self.position), None)

    def forward(self) -> Move:
        """Undo `back`."""
        return self._recall(self._forward, self._back, "no later place")

    # -- the small change ----------------------------------------------------------------------

    def _in_attempt(self, moment: int) -> int:
        """What an attempt makes before its first instruction is shown at its first moment."""
        attempt = self.attempt
        first = attempt.first_moment if attempt is not None else moment
        return min(max(moment, first), self.newest)

    def _recall(self, source: list[int], other: list[int], nothing: str) -> Move:
        while source:
            place = source.pop()
            if place != self.position:
                other.append(self.position)
                return self._moved(place)
        return Move("refused", self.position, nothing)

    def _jumped(self, moment: int, text: str = "") -> Move:
        if moment != self.position:
            if self.position:
                self._back.append(self.position)
                del self._back[:-HISTORY]
            self._forward.clear()
        return self._moved(moment, text)

    def _moved(self, moment: int, text: str = "") -> Move:
        self.position = moment
        return Move("moved", moment, text)

    def _require(self) -> Recording:
        recording = self.recording
        assert recording is not None, "there is a position, so there is a recording"
        return recording

    def _nothing(self) -> Move:
        if self.session.running:
            return Move("refused", self.position, "nothing has been translated yet")
        if self.session.live:
            return Move("refused", self.position, "no moment yet: go on to run the program")
        if self.recording is None:
            return Move("refused", self.position, "there is no recording")
        return Move(
            "refused",
            self.position,
            f"{nothing_translated(self.recording)}: the recording has no moments",
        )

    def _is_running(self) -> Move:
        if self.session.deaf:
            if not self.session.wait(_ENDING):
                text = "the program runs on by itself: it has let go of the debugger"
                return Move("refused", self.position, text)
            self.refresh()
            return Move("refused", self.position, self._last_words())
        return Move("refused", self.position, "the program is running: pause it first")

    def _last_words(self) -> str:
        """Why there is nothing after the newest moment."""
        if self.session.exit_status is not None:
            end = self.session.exit_status.sentence
            return f"the program {end}: this is the last moment ({self.newest})"
        if self.session.growing:
            return (
                f"this is the newest moment ({self.newest}); the recording is still being written"
            )
        return f"this is the recording's last moment ({self.newest})"
