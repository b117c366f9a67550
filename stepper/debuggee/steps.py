"""The hot path: steps are noted one by one and told in batches.

The idea. A step runs in the midst of the compiler, with cold caches: what would take two
microseconds in a loop takes ten there. So a step only notes what it sees, in three small copies
(`note`), and some dozens of notes are turned into moments at once (`tell`), in a loop that is warm.

Why that is no lie. A note holds the very trackers that were there; what could change is what a
tracker *is*. Whoever is about to change one says so beforehand (`Recorder.touched`), and all notes
are told before it happens. Notes are also told before every stop and at the end of every attempt,
so a tracker is held for at most `BATCH` steps longer than the compiler holds it.

What is told is the difference to the frame's own previous moment (see `Delta` in the schema), and
now and then the whole state.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stepper.debuggee.faces import Sink
from stepper.debuggee.mirror import FrameMirror
from stepper.debuggee.trackers import Describer, Trackers
from stepper.model.trace import MomentId
from stepper.model.value import ValueId

BATCH = 64
"""Steps that are noted before they are told."""
KEYFRAME_EVERY = 400
"""Moments between two keyframes; a state is rebuilt from at most so many deltas."""

Note = tuple[FrameMirror, int, list[Any], dict[str, Any], list[Any] | None, Any]

_encode = msgspec.msgpack.Encoder().encode


class Steps:
    """Notes steps and tells moments."""

    def __init__(self, writer: Sink, describer: Describer) -> None:
        self._writer = writer
        self._describer = describer
        self.trackers = Trackers(describer)
        self.notes: list[Note] = []
        """Steps that are not told yet. The recorder appends: (frame, ip, stack, locals, block
        stack or None, speculation), all of them copies."""
        self._told: MomentId = 0
        self._keyframe_due = 0

    def restart(self) -> None:
        """The next moment begins an attempt: nothing before it counts."""
        self._keyframe_due = 0

    def tell(self) -> None:
        """Turn all notes into moments."""
        notes, self.notes = self.notes, []
        first = self._told + 1
        deltas: list[bytes | None] = []
        try:
            self._tell(notes, deltas)
        finally:
            if deltas:
                told = notes[: len(deltas)]
                frames = [note[0].id for note in told]
                self._writer.moments(first, frames, [note[1] for note in told], deltas)

    def _tell(self, notes: list[Note], deltas: list[bytes | None]) -> None:
        """Append what each note's moment changes."""
        trackers = self.trackers
        known = trackers.known
        shown = trackers.shown
        moment = self._told
        for frame, ip, stack, symbolic_locals, blocks, speculation in notes:
            moment += 1
            self._told = moment
            if trackers.changing or frame.depth <= trackers.later_depth:
                trackers.describe_touched(frame.depth)
            changed = False

            seen = frame.stack
            keep = 0
            for new, old in zip(stack, seen):  # noqa: B905 - the common prefix
                if new is not old:
                    break
                keep += 1
            push: list[ValueId] | tuple[()] = ()
            if keep != len(stack) or keep != len(seen):
                changed = True
                frame.stack = stack
                ids = frame.stack_ids
                del ids[keep:]
                if keep != len(stack):
                    push = []
                    for tracker in stack[keep:] if keep else stack:
                        entry = known.get(id(tracker))
                        number = (
                            entry.number
                            if entry is not None and entry() is tracker
                            else trackers.number(tracker)
                        )
                        push.append(number)
                        if number not in shown:
                            trackers.show(number)
                    ids += push

            local_changes: dict[str, ValueId] | None = None
            seen_locals = frame.locals
            if symbolic_locals is not seen_locals:  # nothing was stored otherwise
                local_changes = {}
                for name, tracker in symbolic_locals.items():
                    if seen_locals.get(name) is not tracker:
                        entry = known.get(id(tracker))
                        local_changes[name] = number = (
                            entry.number
                            if entry is not None and entry() is tracker
                            else trackers.number(tracker)
                        )
                        if number not in shown:
                            trackers.show(number)
                frame.locals = symbolic_locals
                frame.local_ids.update(local_changes)
                for name in seen_locals.keys() - symbolic_locals.keys():
                    del frame.local_ids[name]
                    local_changes[name] = 0
                changed = changed or bool(local_changes)

            block_rows = None
            if blocks is not None or frame.blocks:
                last = blocks[-1] if blocks else None
                if last is not frame.blocks_last or len(blocks or ()) != len(frame.blocks):
                    changed = True
                    describe = self._describer.block
                    block_rows = [describe(frame.key, block) for block in blocks or ()]
                    frame.blocks, frame.blocks_last = block_rows, last
            speculation_text = None
            if speculation is not frame.speculation:
                changed = True
                frame.speculation = speculation
                speculation_text = self._describer.speculation(speculation)

            if trackers.undescribed:
                trackers.describe_new()
            fresh = trackers.fresh
            if block_rows is not None or speculation_text is not None:
                delta = _encode((keep, push, local_changes, fresh, block_rows, speculation_text))
            elif fresh:
                delta = _encode((keep, push, local_changes, fresh))
            elif changed:
                delta = _encode((keep, push, local_changes) if local_changes else (keep, push))
            else:
                delta = None
            if fresh:
                fresh.clear()
            frame.told_ip = ip
            deltas.append(delta)
            if moment >= self._keyframe_due:
                self._write_keyframe(frame, moment)

    def tell_other(self, frame: int, ip: int, delta: bytes | None) -> None:
        """A moment that is no step of a translation: told at once, after all that was noted."""
        self.tell()
        self._told += 1
        self._writer.moments(self._told, [frame], [ip], [delta])

    def tell_whole(self, chain: list[FrameMirror]) -> None:
        """Tell one moment with the state of these frames, innermost first, of which nothing was
        told before. Each mirror holds its stack and its locals."""
        trackers = self.trackers
        for mirror in reversed(chain):
            mirror.told_ip = mirror.ip
            mirror.stack_ids = [trackers.number(tracker) for tracker in mirror.stack]
            mirror.locals = mirror.locals.copy()
            mirror.local_ids = {
                name: trackers.number(tracker) for name, tracker in mirror.locals.items()
            }
            blocks = mirror.key.block_stack
            mirror.blocks = [self._describer.block(mirror.key, block) for block in blocks]
            mirror.blocks_last = blocks[-1] if blocks else None
            mirror.speculation = mirror.key.current_speculation
        trackers.describe_new()
        frame = chain[0]
        self._told += 1
        delta = _encode((0, frame.stack_ids, frame.local_ids, trackers.fresh))
        trackers.fresh.clear()
        self._writer.moments(self._told, [frame.id], [frame.ip], [delta])
        self._write_keyframe(frame, self._told)

    def _write_keyframe(self, frame: FrameMirror, moment: MomentId) -> None:
        self._keyframe_due = moment + KEYFRAME_EVERY
        frames = []
        numbers: list[ValueId] = []
        current: FrameMirror | None = frame
        while current is not None:
            frames.append(
                (
                    current.id,
                    current.told_ip,
                    current.stack_ids,
                    current.local_ids,
                    current.blocks,
                    self._describer.speculation(current.speculation),
                )
            )
            numbers += current.stack_ids
            numbers += current.local_ids.values()
            current = current.parent
        frames.reverse()
        self._writer.keyframe(moment, _encode((frames, self.trackers.reachable(numbers))))
