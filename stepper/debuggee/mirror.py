"""What the recorder knows of a translation, an attempt and a symbolic frame while they last."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from stepper.model import trace
from stepper.model.program import Code


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
        "recompile_reason",
        "record",
        "stood_before",
    )

    def __init__(self, record: trace.Translation, code: Code, nested: bool) -> None:
        self.id = record.id
        self.nested = nested
        self.record = record
        self.code = code
        self.compile_id = record.compile_id
        self.recompile_reason = ""
        self.began = time.monotonic()
        self.stood_before = 0.0
        """Seconds that the program had stood still before it began."""
        self.attempts = 0
        self.newest_attempt: LiveAttempt | None = None
        self.guards: list[tuple[int, Any]] = []
        self.counts = {"guards": 0, "nodes": 0, "graph_breaks": 0}


class LiveAttempt:
    """An attempt in progress."""

    __slots__ = ("first_moment", "id", "number", "restart_reason", "translation")

    def __init__(
        self, id: int, translation: LiveTranslation, number: int, first_moment: int
    ) -> None:
        self.id = id
        self.translation = translation
        self.number = number
        self.first_moment = first_moment
        self.restart_reason = ""


class FrameMirror:
    """A symbolic frame as it was at its newest moment."""

    __slots__ = (
        "_code", "_make_code", "attempt", "blocks", "blocks_last", "call_moment", "depth", "id",
        "ip", "key", "live_locals", "local_ids", "locals", "noted_locals", "parent", "speculation",
        "stack", "stack_ids", "stores", "told_ip", "written",
    )  # fmt: skip

    def __init__(
        self,
        id: int,
        key: Any,
        make_code: Callable[[], Code],
        parent: FrameMirror | None,
        attempt: LiveAttempt,
        call_moment: int | None,
    ) -> None:
        self.id = id
        self.key = key
        """The engine's translator."""
        self._make_code = make_code
        self._code: Code | None = None
        self.parent = parent
        self.attempt = attempt
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.call_moment = call_moment
        self.ip = 0
        self.told_ip = 0
        """`ip` at the newest moment that was told."""
        self.stack: list[Any] = []
        self.stack_ids: list[int] = []
        self.locals: dict[str, Any] = {}
        """As they were told last."""
        self.local_ids: dict[str, int] = {}
        self.live_locals: dict[str, Any] | None = None
        """The engine's own dictionary, when it was looked at last."""
        self.noted_locals: dict[str, Any] = self.locals
        """Its newest copy; the same object as long as nothing was stored."""
        self.stores = b""
        """For each instruction of the code, whether it can change which value a local has."""
        self.blocks: list[Any] = []
        self.blocks_last: Any = None
        self.speculation: Any = None
        self.written = False

    @property
    def code(self) -> Code:
        """The code that is interpreted; made when it is first asked for."""
        if self._code is None:
            self._code = self._make_code()
        return self._code


def storing(code: Code) -> bytes:
    """`FrameMirror.stores` for a code.

    Names are CPython's, of any version: a local is set by STORE_FAST and its combinations with
    other instructions, by MAKE_CELL and COPY_FREE_VARS, emptied by DELETE_FAST and
    LOAD_FAST_AND_CLEAR. Dynamo's own additions (removed `___stack` variables) change the number of
    locals, which is looked at besides.
    """
    return bytes(
        "STORE_" in instruction.opname
        or "DELETE_" in instruction.opname
        or instruction.opname in ("LOAD_FAST_AND_CLEAR", "MAKE_CELL", "COPY_FREE_VARS")
        for instruction in code.instructions
    )
