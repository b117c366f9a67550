"""What the recorder knows of a translation, an attempt and a symbolic frame while they last."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from stepper._C import Mirror, opname_marks
from stepper.model import trace
from stepper.model.program import Code
from stepper.model.trace import MomentId

if TYPE_CHECKING:
    from stepper.debuggee.walks import WalkFrame


class LiveTranslation:
    """A translation in progress."""

    __slots__ = (
        "attempts",
        "began",
        "code",
        "compile_id",
        "counts",
        "guards",
        "id",
        "nested",
        "newest_attempt",
        "record",
        "stood_before",
    )

    def __init__(self, record: trace.Translation, code: Code, nested: bool) -> None:
        self.id = record.id
        self.nested = nested
        self.record = record
        self.code = code
        self.compile_id = record.compile_id
        self.began = time.monotonic()
        self.stood_before = 0.0
        """Seconds that the program had stood still before it began."""
        self.attempts = 0
        self.newest_attempt: LiveAttempt | None = None
        self.guards: dict[int, object] = {}
        """The newest attempt's, by number: those that were reported and not withdrawn."""
        self.counts = {"nodes": 0, "graph_breaks": 0}


class LiveAttempt:
    """An attempt in progress."""

    __slots__ = (
        "first_moment", "id", "number", "restart_reason", "side_effects", "translation",
    )  # fmt: skip

    def __init__(
        self, id: int, translation: LiveTranslation, number: int, first_moment: int
    ) -> None:
        self.id = id
        self.translation = translation
        self.number = number
        self.first_moment = first_moment
        self.restart_reason = ""
        self.side_effects: dict[tuple[int, str], int] = {}
        """The number of the last one, by the id of the tracker that it changes and its attribute;
        empty: the tracker itself."""


class FrameMirror(Mirror):
    """A symbolic frame as it was at its newest moment; see csrc/record/mirror.h."""

    __slots__ = ()
    attempt: LiveAttempt
    call_moment: MomentId | None
    code: Code
    parent: FrameMirror | None


class GuardMarks(NamedTuple):
    """Guards that were marked as they came, by columns."""

    guards: list[Any]
    moments: list[MomentId]
    """When the instructions ran that installed them."""
    frames: list[int]
    """Whose instructions these are; 0: none's."""
    codes: list[Code | None]
    """What the frames interpret, where they are of the attempt of the guards."""
    ips: list[int]
    """The instructions in these codes."""


class GuardWords(NamedTuple):
    """What guards are, by columns."""

    kinds: list[str]
    sources: list[str]
    scopes: list[str]


class Mark(NamedTuple):
    """How far a thread is: see `Recorder.mark`."""

    lock: int
    under_way: tuple[object, ...]
    top: FrameMirror | None
    stepping: WalkFrame | None


def newest_moment_of(
    translator: object, innermost: FrameMirror | None, newest: MomentId
) -> MomentId | None:
    """The newest moment of a translator's frame: the call's, if what it called has moments since.

    Args:
        translator: whose frame; it is looked for around the innermost one.
        innermost: the frame of the newest moment.
        newest: that moment.
    """
    at: FrameMirror | None = innermost
    moment: MomentId | None = newest
    while at is not None and moment is not None:
        if at.key is translator:
            return moment
        moment, at = at.call_moment, at.parent
    return None


def names_at(
    mirror: FrameMirror | None, frame: int | None, guards_of: Callable[[Any], list[Any]]
) -> dict[str, object]:
    """What an expression can speak of in a symbolic frame: see `Engine.namespace`.

    `mirror` is the innermost frame, `guards_of` gives the guards of a translator's output.

    Raises:
        LookupError: no such frame is on the symbolic call stack now.
    """
    while mirror is not None and frame is not None and mirror.id != frame:
        mirror = mirror.parent
    if mirror is None:
        if frame is None:
            return {}
        raise LookupError(f"frame {frame} is not on the symbolic call stack now")
    tx = mirror.key
    return {
        "tx": tx,
        "stack": list(mirror.stack),
        "locals": dict(tx.symbolic_locals),
        "inst": tx.instructions[mirror.ip],
        "graph": tx.output.graph,
        "guards": guards_of(tx.output),
    }


def storing(code: Code) -> bytes:
    """`FrameMirror.stores` for a code.

    Names are CPython's, of any version: a local is set by STORE_FAST and its combinations with
    other instructions, by MAKE_CELL and COPY_FREE_VARS, emptied by DELETE_FAST and
    LOAD_FAST_AND_CLEAR. Dynamo's own additions (removed `___stack` variables) change the number of
    locals, which is looked at besides.
    """
    return opname_marks(code.instructions, _STORING)


class _Storing(dict[str, bool]):
    """Whether an instruction of a name stores; each is asked once."""

    def __missing__(self, opname: str) -> bool:
        stores = self[opname] = (
            "STORE_" in opname
            or "DELETE_" in opname
            or opname in ("LOAD_FAST_AND_CLEAR", "MAKE_CELL", "COPY_FREE_VARS")
        )
        return stores


_STORING = _Storing()
