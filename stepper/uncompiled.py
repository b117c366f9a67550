"""Keeps stepper's own code out of Dynamo, whatever the way in.

Programs call stepper from compiled functions: `breakpoint()`, `with stepper.record(…)`, a question
to `stepper.cache`, or a hook of ours that runs in their midst. Dynamo would take such a call for a
part of the program, in two ways.

While it traces the caller, it would inline the call. Against that it has a list of files that it
does not trace, on which it has other libraries too; ours are put there (`versions.never_trace`).
The call is a graph break then. `stepper.breakpoint()` is not even that: Dynamo calls it while it
traces (`versions.call_while_tracing`).

After a graph break the call is made while Dynamo's frame evaluation is on. It would compile our
function, and then each function that ours calls, those of other libraries included. Against that
the evaluator knows a mark on code objects: it stays out of a marked frame and of all that is called
below it, without asking anybody (`versions.leave_alone`). Marks are put on all functions of the
modules through which others come in: those with an interface, and those with hooks.

All of it needs a torch that is loaded. If Dynamo is not there yet, it waits until it is.
"""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import import_module
from types import CodeType
from typing import Any

import stepper
from stepper.support.arrival import when_imported

_waiting: list[CodeType] = []
"""Codes to mark once Dynamo is there."""
_versions: Any = None
"""What knows the installed torch, from Dynamo's arrival on."""


def keep_out() -> None:
    """Keep Dynamo out of all functions of the calling module: to be its last line."""
    found = [sys._getframe(1).f_code]
    for code in found:
        found += [constant for constant in code.co_consts if type(constant) is CodeType]
    for code in found[1:]:
        leave_alone(code)


def leave_alone(code: CodeType) -> None:
    """Keep Dynamo out of one function, and of all that it calls while it runs."""
    if _versions is None:
        _waiting.append(code)
    else:
        _versions.leave_alone(code)


def _dynamo_is_there() -> None:
    with contextlib.suppress(Exception):  # a torch that we do not know: its import goes on
        # By name: what knows torch is below us in the house, and stepper is imported without it.
        import_module("stepper.engines.dynamo.versions")


def is_known(versions: Any) -> None:
    """Dynamo is there, and so is what knows it: called at the end of its module, which may be what
    has imported Dynamo."""
    global _versions
    try:
        versions.never_trace(os.path.dirname(__file__))
        versions.call_while_tracing("stepper.breakpoint", stepper.breakpoint)
    except Exception:  # a torch that we do not know
        return
    _versions = versions
    while _waiting:
        _versions.leave_alone(_waiting.pop())


for _function in (stepper.breakpoint, stepper.__getattr__):
    leave_alone(_function.__code__)
if stepper._DynamoArrives in sys.meta_path:
    sys.meta_path.remove(stepper._DynamoArrives)
when_imported("torch._dynamo", _dynamo_is_there)
