"""How a resume function's call gets to `stepper.engines.common.resumed` in Dynamo's code.

Right before it, the callee on the value stack is exchanged (`Executions.step`). Dynamo makes the
callee in several ways (a global, a closure made on the spot, a function out of a list), and there
they all end.
"""

from __future__ import annotations

from typing import Any

from stepper.engines.common import resumed
from stepper.engines.common.entries import Runnable
from stepper.engines.dynamo.cache import KnownEntry
from stepper.engines.dynamo.calling import call, uncompiled
from stepper.engines.dynamo.entries import ENTRIES


class ResumedCalls(resumed.ResumedCalls[KnownEntry]):
    """Answers for one run by hand."""

    entries = ENTRIES

    def follow(self, what: Runnable, compile_id: str, f_locals: dict[str, Any]) -> object:

        def run() -> object:
            return call(what.code, what.f_globals, f_locals, what.original)

        # In a callback of the interpreter's the compiler is at rest. To follow what runs there
        # would wake it up, too.
        with uncompiled():
            return self._following(what.code, what.original, compile_id, run, self)
