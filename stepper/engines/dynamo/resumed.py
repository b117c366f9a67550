"""Resume functions that are called while an entry's code is stepped by hand.

In the program such a call is a lookup of its own, and a compilation when nothing serves it. By hand
nothing may change, so Dynamo is off meanwhile; it would move the entry that matches to the front,
count, and compile. So the call is answered here: the entries of the resume function are asked
about the arguments (`cache_check`, which changes nothing), what they say is told as a lookup, and
the winner's code runs in the function's place and is followed in its turn. Where no entry matches,
the function runs as it is, and that is said.

How the call gets here: right before it, the callee on the value stack is exchanged
(`Executions.step`). Dynamo makes the callee in several ways (a global, a closure made on the spot,
a function out of a list), and there they all end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

from stepper.engines.common import arguments
from stepper.engines.common.execution import Served
from stepper.engines.dynamo import cache_check
from stepper.engines.dynamo.cache import BOOK, locked
from stepper.model.cache import CacheError

RecordLookup = Callable[
    [CodeType, dict[str, Any], dict[str, Any], CodeType | None, FrameType | None], None
]
"""Told the code, the call's locals, its globals, the code that wins, and the caller."""


class ResumedCalls:
    """Answers for one run by hand."""

    def __init__(self, backend: str, record: RecordLookup) -> None:
        """`backend`: the one for which the stepped entry was compiled; empty: any."""
        self._backend = backend
        self._record = record
        self._uncompiled: dict[str, str] = {}

    @property
    def remark(self) -> str:
        """Which functions ran as they are, and why; empty: none did."""
        return "".join(f"; {name} ran uncompiled: {why}" for name, why in self._uncompiled.items())

    def serve(
        self, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Served | None:
        """The entry of a resume function that serves a call; None: it runs as it is."""
        code = function.__code__
        try:
            f_locals = arguments.bind(function, args, kwargs)
            winner, compile_id = self._winner(code, f_locals)
        except CacheError as error:
            self._uncompiled[code.co_qualname] = str(error)
            return None
        self._record(code, f_locals, function.__globals__, winner, sys._getframe(2))
        if winner is None:
            self._uncompiled[code.co_qualname] = "no entry of its own matches"
            return None
        made = FunctionType(
            winner,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return Served(made, compile_id)

    def _winner(self, code: CodeType, f_locals: dict[str, Any]) -> tuple[CodeType | None, str]:
        found = cache_check.check(code, f_locals, backend=self._backend)
        if found.winner is None:
            return None, ""
        entry = BOOK.entry(found.winner)
        with locked():
            _, transformed = BOOK.parts(entry)
        return transformed, entry.facts.compile_id
