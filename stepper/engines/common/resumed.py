"""Resume functions that are called while an entry's code is stepped by hand.

In the program such a call is a lookup of its own, and a compilation when nothing serves it. By hand
nothing may change, so the compiler is off meanwhile; it would move the entry that matches to the
front, count, and compile. So the call is answered here: the entries of the resume function are
asked about the arguments (`EngineEntries.check`, which changes nothing), what they say is told as a
lookup, and the winner's code runs in the function's place and is followed in its turn. Where no
entry matches, the function runs as it is, and that is said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any, Generic

from stepper.engines.common import arguments
from stepper.engines.common.entries import EngineEntries, Runnable
from stepper.engines.common.execution import Served
from stepper.engines.common.known import E
from stepper.model.cache import CacheError

RecordLookup = Callable[
    [CodeType, dict[str, Any], dict[str, Any], E | None, FrameType | None], None
]
"""Told the code, the call's locals, its globals, the entry that wins, and the caller."""

Following = Callable[..., Any]
"""See `ExecutionWatcher.by_hand`."""


class ResumedCalls(Generic[E]):
    """Answers for one run by hand."""

    uncompiled = "uncompiled"
    """How a function runs that no entry serves."""

    entries: EngineEntries[E]
    """The engine's."""

    def __init__(self, record: RecordLookup[E], following: Following, backend: str) -> None:
        """
        Args:
            record: records a lookup that is made by hand.
            following: calls something that runs a code once, and has that recorded.
            backend: the one for which the stepped entry was compiled; empty: any.
        """
        self._record = record
        self._following = following
        self._backend = backend
        self._as_they_are: dict[str, str] = {}

    def follow(self, what: Runnable, compile_id: str, f_locals: dict[str, Any]) -> object:
        """Run an entry, with its resume functions, and have that followed: the engine's part."""
        raise NotImplementedError

    @property
    def remark(self) -> str:
        """Which functions ran as they are, and why; empty: none did."""
        ran = f"ran {self.uncompiled}"
        return "".join(f"; {name} {ran}: {why}" for name, why in self._as_they_are.items())

    def serve(
        self, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Served | None:
        """The entry of a resume function that serves a call; None: it runs as it is."""
        code, entry = function.__code__, None
        try:
            f_locals = arguments.bind(function, args, kwargs)
            found = self.entries.check(code, f_locals, backend=self._backend)
            if found.winner is not None:
                entry = self.entries.book.entry(found.winner)
            winner = None if entry is None else self.entries.transformed(entry.id)
        except CacheError as error:
            self._as_they_are[code.co_qualname] = str(error)
            return None
        self._record(code, f_locals, function.__globals__, entry, sys._getframe(2))
        if entry is None or winner is None:
            self._as_they_are[code.co_qualname] = "no entry of its own matches"
            return None
        made = FunctionType(
            winner,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return Served(made, entry.facts.compile_id)
