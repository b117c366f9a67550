"""How a translation ends before its time.

Of these only `Unsupported` ever reaches the user's program: where that has asked for one graph.
"""

from __future__ import annotations

import traceback
import types
from collections.abc import Callable
from typing import Self


class Reason(str):
    """A reason, with what is known of it beside the words.

    hint: what to write instead, so that there is none.
    kind: Dynamo's name for such a graph break; see `stepper.native.break_kinds`.
    context: which method, function or operator it is about, in Dynamo's form.
    explanation: torch's own words.

    Each is empty where nothing is known.
    """

    hint: str
    kind: str
    context: str
    explanation: str

    def __new__(
        cls,
        reason: str,
        hint: str = "",
        *,
        kind: str = "",
        context: str = "",
        explanation: str = "",
    ) -> Self:
        made = super().__new__(cls, reason)
        made.hint, made.kind = hint, kind
        made.context, made.explanation = context, explanation
        return made


class NativeError(RuntimeError):
    """The base of all of them; what Dynamo raises instead is a RuntimeError, too."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.msg = reason


class Unsupported(NativeError):
    """Something cannot be captured: a graph break, with a reason that a user understands."""

    at_break: Callable[[], object] | None = None
    """Done where the graph is broken, when the instruction's own changes are taken back."""


class SkipFrame(NativeError):
    """The frame is to run as it is."""


class NothingToCapture(SkipFrame):
    """The frame has been looked through, and computes nothing on tensors."""


class RestartAnalysis(NativeError):
    """Begin again and break the graph before the instruction at this index."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index


class PrepareFirst(NativeError):
    """Have something of the program's done, and begin again."""

    def __init__(self, prepare: Callable[[], object], reason: str) -> None:
        super().__init__(reason)
        self.prepare = prepare


def unimplemented(
    reason: str, hint: str = "", *, kind: str = "", context: str = "", explanation: str = ""
) -> Unsupported:
    """To be raised where something is not supported; see `Reason` for what else is known of it."""
    if not (hint or kind):
        return Unsupported(reason)
    return Unsupported(Reason(reason, hint, kind=kind, context=context, explanation=explanation))


def not_one_graph(code: types.CodeType, reason: str) -> Unsupported:
    """To be raised where code that must be one graph is not going to be captured."""
    place = f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"
    return Unsupported(f"{place} was to be one graph (nopython, fullgraph): {reason}")


def let_go_of_frames(error: BaseException) -> None:
    """Have the frames that an exception went through, and those before it, keep nothing.

    A frame that has the exception in a variable makes a cycle with it, in which the program's
    objects would live until the garbage collector comes by.
    """
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            traceback.clear_frames(each.__traceback__)
            pending += [each.__context__, each.__cause__]
