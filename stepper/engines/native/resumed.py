"""How a resume function's call gets to `stepper.engines.common.resumed` in native code: transformed
code returns the call instead of making it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import FunctionType
from typing import cast

from stepper import _C
from stepper.engines.common import arguments, resumed
from stepper.engines.common.entries import Runnable
from stepper.engines.native.cache import KnownEntry
from stepper.engines.native.entries import ENTRIES
from stepper.engines.native.entry_guards import uncaptured


class ResumedCalls(resumed.ResumedCalls[KnownEntry]):
    """Answers for one run by hand."""

    uncompiled = "uncaptured"

    entries = ENTRIES

    def follow(self, what: Runnable, compile_id: str, f_locals: dict[str, object]) -> object:

        def run() -> object:
            return arguments.call(what.code, what.f_globals, f_locals, what.original)

        with uncaptured(), _resume_calls_left():
            result = self._following(what.code, what.original, compile_id, run)
            while type(result) is _C.ResumeCall:
                result = self._go_on(result)
            return result

    def _go_on(self, call: _C.ResumeCall) -> object:
        function, args = cast(FunctionType, call.function), call.args  # to mypy it is a method
        served = self.serve(function, args, {})
        if served is None:
            return function(*args)
        made, code = served.function, function.__code__
        return self._following(made.__code__, code, served.compile_id, lambda: made(*args))


@contextlib.contextmanager
def _resume_calls_left() -> Iterator[None]:
    """What transformed code returns is the call of its resume function, also under the hook."""
    before = _C.leave_resume_calls(True)
    try:
        yield
    finally:
        _C.leave_resume_calls(before)
