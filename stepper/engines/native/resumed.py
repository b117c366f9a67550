"""Resume functions that are called while an entry's code is stepped by hand.

In the program such a call is a lookup of its own, and a capture when nothing serves it. By hand
nothing may change: the hook would move the entry that matches to the front, count, and capture. So
the call, which transformed code returns instead of making it, is answered here: the entries of the
resume function are asked about the arguments (`cache_check`, which changes nothing), what they say
is told as a lookup, and the winner's code runs in the function's place and is followed in its turn.
Where no entry matches, the function runs as it is, and that is said.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import cast

from stepper import _C
from stepper.engines.common import arguments
from stepper.engines.native import cache_check
from stepper.engines.native.cache import BOOK
from stepper.model.cache import CacheError
from stepper.native.runtime.cache_entry import GuardedCode

Following = Callable[[CodeType, CodeType, str, Callable[[], object]], object]
RecordLookup = Callable[[CodeType, dict[str, object], dict[str, object], GuardedCode | None], None]
"""Told the code, the call's locals, its globals, and the entry that wins."""


class ResumedCalls:
    """Answers for one run by hand."""

    def __init__(self, backend: str, record: RecordLookup, following: Following) -> None:
        """
        Args:
            backend: the one for which the stepped entry was captured.
            record: records a lookup that is made by hand.
            following: calls something that runs a code once, and has that followed.
        """
        self._backend = backend
        self._record = record
        self._following = following
        self._uncaptured: dict[str, str] = {}

    @property
    def remark(self) -> str:
        """Which functions ran as they are, and why; empty: none did."""
        return "".join(f"; {name} ran uncaptured: {why}" for name, why in self._uncaptured.items())

    def finish(self, result: object) -> object:
        """What the result of transformed code comes to."""
        while type(result) is _C.ResumeCall:
            result = self._go_on(result)
        return result

    def _go_on(self, call: _C.ResumeCall) -> object:
        function, args = cast(FunctionType, call.function), call.args  # to mypy it is a method
        code = function.__code__
        try:
            f_locals = arguments.bind(function, args, {})
            found = cache_check.check(code, f_locals, backend=self._backend)
        except CacheError as error:
            self._uncaptured[code.co_qualname] = str(error)
            return function(*args)
        entry = None if found.winner is None else BOOK.entry(found.winner)
        winner = None if entry is None else BOOK.parts(entry)[0]
        self._record(code, f_locals, function.__globals__, winner)
        if entry is None or winner is None:
            self._uncaptured[code.co_qualname] = "no entry of its own matches"
            return function(*args)
        closure = function.__closure__
        made = FunctionType(winner.code, function.__globals__, function.__name__, None, closure)
        return self._following(winner.code, code, entry.facts.compile_id, lambda: made(*args))


@contextlib.contextmanager
def resume_calls_left() -> Iterator[None]:
    """What transformed code returns is the call of its resume function, also under the hook."""
    before = _C.leave_resume_calls(True)
    try:
        yield
    finally:
        _C.leave_resume_calls(before)
