"""The instructions of a code object, without a call of anything that is the program's.

`dis` puts the `repr` of each constant beside the instruction that loads it. A constant of code that
a compiler wrote may be any object, even the whole namespace of a module: its `repr` runs the
program's code, may take minutes, and never ends where what is shown grows by being shown. So `dis`
gets to see numbers, and the constants are put in their places afterwards.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import Any

_CONSTANT = frozenset(dis.hasconst)
_SHOWN_QUICKLY = frozenset({type(None), bool, int, float, complex, str, bytes, type(...), CodeType})


def disassemble(code: CodeType) -> list[dis.Instruction]:
    """As `dis.get_instructions`, but what `argrepr` says of a constant is not to be relied on."""
    constants: tuple[Any, ...] = code.co_consts
    if _SHOWN_QUICKLY.issuperset(map(type, constants)):
        return list(dis.get_instructions(code))
    numbered = code.replace(co_consts=tuple(range(len(constants))))
    return [
        # (Of KW_NAMES `dis` does not always know what it takes.)
        each._replace(argval=constants[each.argval])
        if each.opcode in _CONSTANT and type(each.argval) is int
        else each
        for each in dis.get_instructions(numbered)
    ]
