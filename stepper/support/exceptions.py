"""What an exception holds, read without asking its class: a program's own may answer in its place,
and run whatever it likes."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

traceback_of: Callable[[BaseException], TracebackType | None] = BaseException.__dict__[
    "__traceback__"
].__get__
cause_of: Callable[[BaseException], BaseException | None] = BaseException.__dict__[
    "__cause__"
].__get__
"""What it was raised from."""
context_of: Callable[[BaseException], BaseException | None] = BaseException.__dict__[
    "__context__"
].__get__
"""What was being handled when it was raised."""
hides_context: Callable[[BaseException], bool] = BaseException.__dict__[
    "__suppress_context__"
].__get__
arguments_of: Callable[[BaseException], tuple[object, ...]] = BaseException.__dict__["args"].__get__
