"""Whom the calls in transformed code call: the compiled graph, a resume function.

Transformed code loads both from its globals, under names that Dynamo made, and calls them some
instructions later, when their arguments have been put above them. So where each of them is on the
stack is followed from its load to its call, through the instructions that only move values. What
any other instruction leaves alone follows from the depth of the stack before and after it.
"""

from __future__ import annotations

import dis
import re
from types import CodeType

from stepper._C import stack_depth

_GRAPH = re.compile(r"__compiled_fn_")
_RESUME = re.compile(r"__resume_at_|torch_dynamo_resume_in_")

Slot = str | None


def callees(code: CodeType) -> dict[int, str]:
    """For the calls of graphs and resume functions, in words: by index of the instruction."""
    if not any(_words(name) for name in code.co_names):
        return {}
    found: dict[int, str] = {}
    stack: list[Slot] = []
    listed = list(dis.get_instructions(code))
    for index, instruction in enumerate(listed):
        depth = stack_depth(code, instruction.offset)
        if depth is None:
            continue
        del stack[depth:]
        stack += [None] * (depth - len(stack))
        if instruction.opname.startswith("CALL"):
            taken = _taken(instruction)
            callee = next(filter(None, stack[max(0, depth - taken) : depth]), None)
            if callee is not None:
                found[index] = callee
        following = listed[index + 1].offset if index + 1 < len(listed) else None
        after = None if following is None else stack_depth(code, following)
        _move(stack, instruction, depth if after is None else after)
    return found


def _taken(instruction: dis.Instruction) -> int:
    """How many values a call takes, with the callee and what stands beside it."""
    argument = instruction.arg or 0
    match instruction.opname:
        case "CALL":
            return argument + 2
        case "CALL_KW":
            return argument + 3
        case "CALL_FUNCTION_EX":
            return 3 + (argument & 1)
    return 0  # an intrinsic


def _move(stack: list[Slot], instruction: dis.Instruction, after: int) -> None:
    """What the instruction does to what is followed; `after`: how deep the stack is then."""
    argument = instruction.arg or 0
    match instruction.opname:
        case "SWAP":
            stack[-1], stack[-argument] = stack[-argument], stack[-1]
        case "COPY":
            stack.append(stack[-argument])
        case "LOAD_GLOBAL" | "LOAD_NAME":
            words = _words(str(instruction.argval))
            first = len(stack)
            stack += [words] * (after - first)  # with the NULL beside it, on whichever side
        case "LIST_EXTEND" | "LIST_APPEND" | "PRECALL" | "KW_NAMES" | "POP_TOP" | "NOP":
            del stack[after:]
        case _:
            untouched = after if after > len(stack) else after - 1
            del stack[max(0, untouched) :]
            stack += [None] * (after - len(stack))


def _words(name: str) -> Slot:
    if _GRAPH.match(name):
        return f"compiled graph {name}"
    if _RESUME.match(name):
        return f"resume function {name}"
    return None
