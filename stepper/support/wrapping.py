"""What a decorator has put its own function around, by the bytecode of that.

The function that a decorator returns is called by one name whatever it wraps, as
`logged.<locals>.wrapper`. Which function is meant, it has in its closure, and hands on to that
whatever it is called with: this is a call with `*args`, whose callable comes from a cell.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Mapping
from types import CodeType, FunctionType, MethodType

from stepper.support.disassembly import disassemble
from stepper.support.per_object import PerCode

_HANDS_ON = "CALL_FUNCTION_EX"
_FROM_A_CELL = "LOAD_DEREF"
_NULL = "PUSH_NULL"

_held: PerCode[str] = PerCode()


def wrapped(code: CodeType, f_locals: Mapping[str, object]) -> str:
    """The qualified name of the function that a code hands its arguments on to; empty: it has no
    `*args`, or none that it has in its closure is called with them, or several are.

    Args:
        f_locals: what it is entered with, its closure included.
    """
    if not code.co_flags & inspect.CO_VARARGS or not code.co_freevars:
        return ""
    name = _held.get(code)
    if name is None:
        name = _held.set(code, _hands_on_to(code))
    function = f_locals.get(name) if name else None
    if type(function) is MethodType:
        function = function.__func__
    return function.__qualname__ if type(function) is FunctionType else ""


def _hands_on_to(code: CodeType) -> str:
    """Which free variable."""
    rows = disassemble(code)
    calls = (at for at, row in enumerate(rows) if row.opname == _HANDS_ON)
    found = {name for at in calls if (name := _callable(rows, at)) is not None}
    return found.pop() if len(found) == 1 else ""


def _callable(rows: list[dis.Instruction], at: int) -> str | None:
    """The cell that the callable of a call comes from; None: it comes from elsewhere."""
    # The callable is the lowest of what the call takes, but for a NULL that some versions have.
    above = -_effect(rows[at])
    for before in range(at - 1, -1, -1):
        if above == 0:
            row = rows[before + 1 if rows[before].opname == _NULL else before]
            return row.argval if row.opname == _FROM_A_CELL else None
        above -= _effect(rows[before])
        if above < 0:
            break  # it is pushed together with the NULL, so it is a global
    return None


def _effect(row: dis.Instruction) -> int:
    return dis.stack_effect(row.opcode, row.arg, jump=False)
