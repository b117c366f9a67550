"""Who and what: translations, attempts, frames and code objects, cached as they are read.

Rows that are finished never change and are kept; the few that still run are read again after a
refresh. Frames are many, so they are read one by one as they are asked for, or by attempt: they
were appended in the order of their first moments, so an attempt's frames are found by bisecting on
the id.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple, TypeVar

import msgspec

from stepper.model.program import Code, PythonFrame
from stepper.model.trace import Attempt, Frame, Outcome, Translation
from stepper.recording.batches import GuardRuns, InputRuns, NodeRuns
from stepper.recording.changes import Changes
from stepper.recording.database import Database, damaged
from stepper.recording.errors import RecordingError
from stepper.recording.outlines import Outlines
from stepper.recording.packing import may_hold, unpacked
from stepper.recording.recent import Recent
from stepper.recording.repeats import Repeat, Repeats
from stepper.recording.rows import RowFinder, Stretch

_CODES_TOGETHER = 8
"""Code objects that are read at once: whoever goes through attempts wants one after the other."""
_INSTRUCTIONS_KEPT = 131_072
"""Instructions of codes that are kept, decoded."""


Named = TypeVar("Named", Translation, Attempt)


class _FrameRow(NamedTuple):
    id: int
    attempt: int
    parent: int | None
    depth: int
    code: int
    first_moment: int
    last_moment: int | None
    call_moment: int | None


Span = tuple[int, int, int, int, int | None]
"""Where a frame stands: its number, that of its attempt, its depth, its first and its last moment.
One whose end is not recorded ends with its attempt."""


_FRAME_COLUMNS = ", ".join(_FrameRow._fields)


class Settled(NamedTuple):
    """What a reader knows that never changes any more, by id. Readers share it: none of them puts
    in more."""

    translations: dict[int, Translation]
    attempts: dict[int, Attempt]
    attempts_of: dict[int, tuple[int, ...]]
    """By translation."""
    repeats: list[Repeat]
    """Those among them that repeat others."""


def _below(found: dict[int, Named], end: int | None) -> dict[int, Named]:
    return dict(found) if end is None else {id: each for id, each in found.items() if id < end}


class Catalog:
    """The things of a recording that have names."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.rows = RowFinder(database)
        self._frame_rows = Stretch(database, self.rows, _FrameRow, "frame", "first_moment")
        self.guards = GuardRuns(database)
        self.withdrawn = Changes(database, "guard_withdrawn", "guard")
        """When guards were withdrawn."""
        self.nodes = NodeRuns(database)
        self.inputs = InputRuns(database)
        self.erased = Changes(database, "node_erased", "node")
        """When nodes were erased."""
        self._repeats = Repeats(database)
        self._translations: dict[int, Translation] = {}
        self._in_order: list[Translation] = []
        """All of them, where somebody has asked for all since they were loaded."""
        self._running: set[int] = set()
        """The ids of those that have not ended."""
        self._attempts: dict[int, Attempt] = {}
        self._open_attempts: set[int] = set()
        """The ids of those that have not ended."""
        self._attempts_of: dict[int, tuple[int, ...]] = {}
        self._translations_of: dict[int, list[int]] = {}
        """By code, as far as somebody has asked."""
        self._of_codes = 0
        """How many translations those are."""
        self._whose: dict[int, tuple[str, int]] = {}
        self._frames: dict[int, Frame] = {}
        self._codes: Recent[Code] = Recent(_INSTRUCTIONS_KEPT)
        self._code_bodies: dict[int, bytes] = {}
        self._frames_of: dict[int, list[Frame]] = {}
        self.outlines = Outlines(database, self._frames_repeated)
        self._code_decoder = msgspec.msgpack.Decoder(Code)
        self._translation_decoder = msgspec.msgpack.Decoder(Translation)
        self._stale = True
        self._over = ""
        self._shared = False
        """Whether another reader has the same dictionaries."""

    def nobody_writes(self, why: str) -> None:
        """The recording is over; what it says is running was cut off."""
        self._over = why
        self._stale = True
        self._forget_rows()

    def settled(self) -> Settled:
        """What has been read and never changes any more."""
        walks = self._translations
        running = (Outcome.RUNNING, Outcome.CUT_OFF)
        walks_end = min((id for id, each in walks.items() if each.outcome in running), default=None)
        attempts_end = min(
            (
                id
                for id, each in self._attempts.items()
                if each.last_moment is None
                or (walks_end is not None and each.translation >= walks_end)
            ),
            default=None,
        )
        repeats = self._repeats.before(walks_end)
        if walks_end is None and attempts_end is None:
            self._shared = True
            return Settled(walks, self._attempts, self._attempts_of, repeats)
        attempts = _below(self._attempts, attempts_end)
        attempts |= {each.attempt: self._attempts[each.attempt] for each in repeats}
        of: dict[int, tuple[int, ...]] = {}
        for id, each in attempts.items():
            of[each.translation] = (*of.get(each.translation, ()), id)
        return Settled(_below(walks, walks_end), attempts, of, repeats)

    def take_over(self, known: Settled) -> None:
        """Begin with what another reader of the same file has read, before anything is asked."""
        self._translations, self._attempts = known.translations, known.attempts
        self._attempts_of, self._shared = known.attempts_of, True
        self._repeats.take_over(known.repeats)

    def _own(self) -> None:
        """Have dictionaries that can be changed."""
        if self._shared:
            self._translations, self._attempts = dict(self._translations), dict(self._attempts)
            self._attempts_of, self._shared = dict(self._attempts_of), False

    def refresh(self) -> None:
        """Forget what may have changed."""
        self._stale = True
        self.outlines.refresh()
        self._forget_rows()
        for id in [id for id, frame in self._frames.items() if frame.last_moment is None]:
            del self._frames[id]
        for id in list(self._frames_of):
            attempt = self._attempts.get(id)
            if attempt is None or attempt.last_moment is None:
                del self._frames_of[id]

    def _forget_rows(self) -> None:
        """Look again for rows, when they are next asked for."""
        for rows in (self._frame_rows, self.withdrawn, self.erased):
            rows.forget()
        for runs in (self.guards, self.nodes, self.inputs):
            runs.refresh()

    def _load(self) -> None:
        if not self._stale:
            return
        self._in_order = []
        start = min(self._running, default=max(self._translations, default=-1) + 1)
        stack: tuple[PythonFrame, ...] = ()
        for id, body in self._database.stream(
            tuple[int, bytes], "SELECT id, body FROM translation WHERE id >= ?", (start,)
        ):
            self._own()
            item = unpacked(self._database, self._translation_decoder, body)
            if item.python_stack == stack:  # as mostly, so that one will do
                msgspec.structs.force_setattr(item, "python_stack", stack)
            stack = item.python_stack
            self._translations[id] = item
            if item.outcome is Outcome.RUNNING:
                self._running.add(id)
            else:
                self._running.discard(id)
        start = min(self._open_attempts, default=max(self._attempts, default=-1) + 1)
        for row in self._database.stream(
            tuple[int, int, int, int, int | None, str],
            "SELECT id, translation, number, first_moment, last_moment, restart_reason"
            " FROM attempt WHERE id >= ?",
            (start,),
        ):
            self._own()
            self._add_attempt(Attempt(*row))
        for repeat in self._repeats.load():
            self._own()
            self._repeated(repeat)
        self._stale = False
        if self._over and self._running:
            self._own()
            for id in self._running:
                self._translations[id] = self._cut_off(self._translations[id])
            self._running.clear()

    def _add_attempt(self, attempt: Attempt) -> None:
        id, owner, of = attempt.id, attempt.translation, self._attempts_of
        if id not in self._attempts:
            of[owner] = (*of[owner], id) if owner in of else (id,)
        self._attempts[id] = attempt
        if attempt.last_moment is None:
            self._open_attempts.add(id)
        else:
            self._open_attempts.discard(id)

    def _repeated(self, repeat: Repeat) -> None:
        """Put in a lookup that repeats another one."""
        t = self._translations.get(repeat.repeats)
        attempts = self._attempts_of.get(repeat.repeats, ())
        if (
            t is None or t.last_moment is None or len(attempts) != 1
            or self._repeats.of_attempt(attempts[0]) is not None
            or repeat.translation in self._translations or repeat.attempt in self._attempts
        ):  # fmt: skip
            text = f"lookup {repeat.translation} cannot repeat {repeat.repeats}"
            raise damaged(self._database.path, text)
        later = repeat.moment - t.first_moment
        last = t.last_moment + later
        item = msgspec.structs.replace(
            t, id=repeat.translation, first_moment=repeat.moment, last_moment=last,
            seconds=repeat.nanoseconds / 1e9,
        )  # fmt: skip
        attempt = Attempt(repeat.attempt, repeat.translation, 1, repeat.moment, last)
        self._translations[item.id] = item
        self._add_attempt(attempt)

    def original(self, attempt: int) -> tuple[Attempt, int] | None:
        """The attempt that another one repeats, and by how much its moments come later; None: it
        repeats nothing."""
        self._load()
        repeat = self._repeats.of_attempt(attempt)
        if repeat is None:
            return None
        [attempt] = self._attempts_of[repeat.repeats]
        original = self._attempts[attempt]
        return original, repeat.moment - original.first_moment

    def _repeated_frames(self, repeat: Repeat) -> list[Frame]:
        [attempt] = self._attempts_of[repeat.repeats]
        originals = self.frames(attempt)
        shift = repeat.frame - (originals[0].id if originals else 0)
        later = repeat.moment - self._attempts[attempt].first_moment
        return [
            msgspec.structs.replace(
                frame, id=frame.id + shift, attempt=repeat.attempt,
                parent=None if frame.parent is None else frame.parent + shift,
                first_moment=frame.first_moment + later,
                last_moment=None if frame.last_moment is None else frame.last_moment + later,
                call_moment=None if frame.call_moment is None else frame.call_moment + later,
            )
            for frame in originals
        ]  # fmt: skip

    def _cut_off(self, t: Translation) -> Translation:
        """A translation whose end was not recorded, with what is known of it."""
        attempts = [a.id for a in self._attempts.values() if a.translation == t.id]
        guards, nodes = self._found(max(attempts)) if attempts else (0, 0)
        newest = self._database.one(
            tuple[int], "SELECT first + count - 1 FROM moments ORDER BY first DESC LIMIT 1"
        )
        return msgspec.structs.replace(
            t,
            outcome=Outcome.CUT_OFF,
            reason=t.reason or self._over,
            attempts=len(attempts),
            instructions=max(0, (newest or (0,))[0] - t.first_moment + 1),
            guards=guards,
            nodes=nodes,
            graph_breaks=sum(map(self._graph_breaks, attempts)),
        )

    def _found(self, attempt: int) -> tuple[int, int]:
        """How many guards of an attempt hold, and how many nodes it made, as far as they can be
        read: what is wrong with them is told to those who ask for them."""
        ends = attempt, self._attempts[attempt].first_moment - 1, None
        guards = nodes = 0
        with contextlib.suppress(RecordingError):
            if held := {guard.id for guard in self.guards.of(*ends)}:
                gone = self.withdrawn.between(min(held), max(held))
                guards = len(held.difference(number for number, _ in gone))
        with contextlib.suppress(RecordingError):
            nodes = len(self.nodes.of(*ends))
        return guards, nodes

    def _graph_breaks(self, attempt: int) -> int:
        sql = "SELECT count(*) FROM graph_break WHERE attempt = ?"
        found = self._database.one(tuple[int], sql, (attempt,))
        return found[0] if found else 0

    def _unknown(self, what: str, id: object) -> RecordingError:
        return RecordingError(f"{self._database.path} has no {what} {id}.")

    def translations(self) -> list[Translation]:
        """All translations, in order."""
        self._load()
        if len(self._in_order) != len(self._translations):
            self._in_order = [self._translations[id] for id in sorted(self._translations)]
        return self._in_order.copy()

    def translations_of(self, code: int) -> list[Translation]:
        """Those of one code, in order."""
        self._load()
        known = self._translations
        if self._of_codes < len(known):
            for item in islice(known.values(), self._of_codes, None):  # a code never changes
                self._translations_of.setdefault(item.code, []).append(item.id)
            self._of_codes = len(known)
        return [known[id] for id in sorted(self._translations_of.get(code, ()))]

    def translation(self, id: int) -> Translation:
        """One translation."""
        self._load()
        if id not in self._translations:
            raise self._unknown("translation", id)
        return self._translations[id]

    def attempts(self, translation: int | None = None) -> list[Attempt]:
        """The attempts of a translation, or all, in order."""
        self._load()
        if translation is None:
            return [self._attempts[id] for id in sorted(self._attempts)]
        return [self._attempts[id] for id in sorted(self._attempts_of.get(translation, ()))]

    def attempt(self, id: int) -> Attempt:
        """One attempt."""
        self._load()
        if id not in self._attempts:
            raise self._unknown("attempt", id)
        return self._attempts[id]

    def whose(self, attempt: int) -> tuple[str, int]:
        """The thread of an attempt's walk, and its level; neither ever changes."""
        found = self._whose.get(attempt)
        if found is None:
            walk = self.translation(self.attempt(attempt).translation)
            found = self._whose[attempt] = (walk.thread, walk.level)
        return found

    def finished(self, attempt: Attempt) -> bool:
        """Whether nothing about the attempt can change any more."""
        if attempt.last_moment is None:
            return False
        translation = self._translations.get(attempt.translation)
        return translation is not None and translation.outcome is not Outcome.RUNNING

    def frame(self, id: int) -> Frame:
        """One symbolic frame."""
        frame = self._frames.get(id)
        if frame is None:
            sql = f"SELECT {_FRAME_COLUMNS} FROM frame WHERE id = ?"
            row = self._database.one(_FrameRow, sql, (id,))
            if row is not None:
                frame = self._frames[id] = Frame(*row)
        if frame is None:
            self._load()
            if (repeat := self._repeats.before_frame(id)) is not None:
                self.frames(repeat.attempt)
            frame = self._frames.get(id)
        if frame is None:
            raise self._unknown("frame", id)
        return frame

    def frames_inlined(self, translation: int) -> list[Frame]:
        """The frames of its last attempt that has inlined something, else of its last: where the
        graph breaks on the way, the next attempt calls what that one has inlined."""
        found: list[Frame] = []
        for each in reversed(self.attempts(translation)):
            frames = self.frames(each.id)
            if any(frame.depth for frame in frames):
                return frames
            found = found or frames
        return found

    def frames(self, attempt: int) -> list[Frame]:
        """The frames of an attempt, in the order in which they were entered."""
        found = self._frames_of.get(attempt)
        if found is None:
            owner = self.attempt(attempt)
            if (repeat := self._repeats.of_attempt(attempt)) is not None:
                found = self._frames_of[attempt] = self._repeated_frames(repeat)
                self._frames.update((frame.id, frame) for frame in found)
                return found
            first, last = owner.first_moment, owner.last_moment
            # One that the last instruction entered would have begun at the moment after it.
            rows = (
                self._frame_rows.growing(attempt, first)
                if last is None
                else self._frame_rows.of(attempt, first, last + 1)
            )
            found = self._frames_of[attempt] = [Frame(*row) for row in rows]
            self._frames.update((frame.id, frame) for frame in found)
        return found

    def spans(self, first: int) -> Iterator[Span]:
        """The frames that began at a moment or after it, in the order in which they were entered:
        where each stands, and nothing else."""
        start = self.rows.first("frame", "first_moment", first)
        self._load()
        found = self._database.stream(
            tuple[int, int, int, int, int | None],
            "SELECT id, attempt, depth, first_moment, ifnull(last_moment,"
            " (SELECT last_moment FROM attempt WHERE id = frame.attempt))"
            " FROM frame WHERE id >= ? ORDER BY id",
            (start,),
        )
        repeated = (
            (frame.id, frame.attempt, frame.depth, frame.first_moment, frame.last_moment)
            for frame in self._frames_repeated(start, None)
            if frame.first_moment >= first
        )
        return merge(found, repeated)

    def _frames_repeated(self, first: int, last: int | None) -> Iterator[Frame]:
        """The frames between two numbers, both included, that have no rows of their own."""
        self._load()
        for repeat in self._repeats.with_frames(first, last):
            yield from self._repeated_frames(repeat)

    def chain(self, frame: Frame) -> list[Frame]:
        """The frame and its callers, outermost first.

        Raises:
            RecordingError: the frames do not form a chain: each must be one deeper than its parent.
        """
        found = [frame]
        while frame.parent is not None:
            parent = self.frame(frame.parent)
            if parent.depth != frame.depth - 1 or parent.attempt != frame.attempt:
                raise damaged(
                    self._database.path, f"frame {frame.id} cannot be called by {parent.id}"
                )
            found.append(parent)
            frame = parent
        if frame.depth != 0:
            raise damaged(self._database.path, f"frame {frame.id} has no caller")
        found.reverse()
        return found

    def code(self, id: int) -> Code:
        """One code object, with its instructions and its source."""
        code = self._codes.get(id)
        if code is None:
            code = unpacked(self._database, self._code_decoder, self._code_body(id))
            self._codes.keep(id, code, len(code.instructions))
        return code

    def _code_body(self, id: int) -> bytes:
        if id not in self._code_bodies:
            sql = "SELECT id, body FROM code WHERE id >= ? ORDER BY id LIMIT ?"
            try:
                rows = self._database.query(tuple[int, bytes], sql, (id, _CODES_TOGETHER))
            except RecordingError:
                # What is wrong with a neighbour is told to those who ask for it.
                rows = self._database.query(tuple[int, bytes], sql, (id, 1))
            self._code_bodies = dict(rows)
        if id not in self._code_bodies:
            raise self._unknown("code object", id)
        return self._code_bodies[id]

    def codes(self, having: str = "") -> Iterator[Code]:
        """All code objects, in order; or those that can have a text, in any case, in one of their
        strings, and maybe others."""
        for (id,) in self._database.query(tuple[int], "SELECT id FROM code ORDER BY id"):
            if not having or may_hold(self._code_body(id), having):
                yield self.code(id)

    def check_ip(self, frame: Frame, ip: int) -> None:
        """See to it that an instruction exists, so that nobody after us must.

        Raises:
            RecordingError: the frame's code has no such instruction.
        """
        if not 0 <= ip < len(self.code(frame.code).instructions):
            raise damaged(self._database.path, f"frame {frame.id} has no instruction {ip}")
