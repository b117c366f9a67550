"""Trace functions that want to be told of each instruction."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def trace_instructions(trace: Callable[[FrameType, str, Any], Any]) -> None:
    """As `sys.settrace`: its frames say themselves that they want instructions, `f_trace_opcodes`.

    Python 3.12 looks only here whether any frame does, and would tell of none.
    """
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
