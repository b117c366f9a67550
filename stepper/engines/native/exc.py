"""How a translation ends before its time. None of these ever reaches the user's program."""

from __future__ import annotations

from typing import Any


class NativeError(Exception):
    """The base of all of them."""


class Unsupported(NativeError):
    """Something cannot be captured: a graph break, with a reason that a user understands."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.msg = reason


class ObservedException(Unsupported):
    """The program raises an exception: a graph break, unless the program catches it.

    value: the exception's tracker.
    again: it was raised before, and is only passed on.
    """

    def __init__(self, value: Any, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.value = value
        self.again = again


class SkipFrame(NativeError):
    """The frame is to run as it is.

    always: so are all other calls of this code.
    """

    def __init__(self, reason: str, *, always: bool = False) -> None:
        super().__init__(reason)
        self.msg = reason
        self.always = always


class RestartAnalysis(NativeError):
    """Begin again and break the graph before the instruction at this index."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.msg = reason


def unimplemented(reason: str) -> Unsupported:
    """To be raised where something is not supported."""
    return Unsupported(reason)
