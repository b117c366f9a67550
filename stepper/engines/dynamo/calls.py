"""Whom the calls in transformed code call: the compiled graph, a resume function.

Transformed code loads both from its globals, under names that Dynamo made, and calls them some
instructions later, when their arguments have been put above them. So where each of them is on the
stack is followed from its load to its call, through the instructions that only move values. What
any other instruction leaves alone follows from the depth of the stack before and after it.
"""

from __future__ import annotations

import dis
import operator
import re
from collections.abc import Sequence
from types import CodeType

from stepper.debuggee.effects import taken_by_call
from stepper.model.resume_names import BEGINS
from stepper.support.stack_depths import stack_depths

_GRAPH = re.compile(r"__compiled_fn_")
_RESUME = re.compile(rf"__resume_at_|{BEGINS}")
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_MOVES = frozenset(
    {"SWAP", "COPY", "LIST_EXTEND", "LIST_APPEND", "PRECALL", "KW_NAMES", "POP_TOP", "NOP"}
)
"""Instructions that leave alone what they do not take away."""
_offset_of = operator.attrgetter("offset")

Slot = str | None


def callees(code: CodeType, listed: Sequence[dis.Instruction]) -> dict[int, str]:
    """For the calls of graphs and resume functions, in words: by index of the instruction.

    `listed` are all instructions of the code.
    """
    words = {name: told for name in code.co_names if (told := _words(name))}
    if not words:
        return {}
    found: dict[int, str] = {}
    depths = [*map(stack_depths(code).get, map(_offset_of, listed)), None]
    stack: list[Slot] = []
    following = False
    for index, instruction in enumerate(listed):
        opname, depth = instruction.opname, depths[index]
        if depth is None or not (following or (opname in _LOADS and instruction.argval in words)):
            continue
        del stack[depth:]
        stack += [None] * (depth - len(stack))
        if opname.startswith("CALL"):
            taken = taken_by_call(instruction)
            callee = next(filter(None, stack[max(0, depth - taken) : depth]), None)
            if callee is not None:
                found[index] = callee
        after = depths[index + 1]
        after = depth if after is None else after
        if opname in _LOADS:
            told = words.get(instruction.argval)
            stack += [told] * (after - depth)  # with the NULL beside it, on whichever side
        elif opname in _MOVES:
            _move(stack, instruction, after)
        else:
            untouched = after if after > depth else after - 1
            del stack[max(0, untouched) :]
            stack += [None] * (after - len(stack))
        following = after > depth or any(stack)
    return found


def _move(stack: list[Slot], instruction: dis.Instruction, after: int) -> None:
    """What the instruction does to what is followed; `after`: how deep the stack is then."""
    argument = instruction.arg or 0
    match instruction.opname:
        case "SWAP":
            stack[-1], stack[-argument] = stack[-argument], stack[-1]
        case "COPY":
            stack.append(stack[-argument])
        case _:
            del stack[after:]


def _words(name: str) -> Slot:
    if _GRAPH.match(name):
        return f"compiled graph {name}"
    if _RESUME.match(name):
        return f"resume function {name}"
    return None
