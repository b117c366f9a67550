"""Which local variables are still needed at an instruction, and where its ways end."""

from __future__ import annotations

import inspect
from types import CodeType

from stepper.native.bytecode.opcodes import Instruction, listing
from stepper.support.local_variables import local_uses
from stepper.support.per_object import PerCode

END = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})
"""Instructions that no other follows."""
ALWAYS_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
"""Instructions that only that at their target follows."""


def _uses(inst: Instruction) -> tuple[set[str], set[str]]:
    """The locals that an instruction reads, and those that it sets without reading them."""
    read, stored = set[str](), set[str]()
    for verb, name in local_uses(inst.opname, inst.argval):
        if verb == "STORE":
            stored.add(name)
        elif name not in stored:
            read.add(name)
    return read, stored


def live_locals(code: CodeType, index: int) -> set[str]:
    """The locals that may be read before they are set, from this instruction on."""
    instructions = listing(code).instructions
    live: list[set[str]] = [set() for _ in instructions]
    changed = True
    while changed:
        changed = False
        for at in range(len(instructions) - 1, -1, -1):
            inst = instructions[at]
            after: set[str] = set()
            if inst.opname not in END and inst.opname not in ALWAYS_JUMPS:
                after |= live[at + 1] if at + 1 < len(live) else set()
            for target in (inst.target, inst.handler):
                if target is not None:
                    after |= live[target]
            read, stored = _uses(inst)
            # What a handler needs may be needed from before the variable was set.
            kept = live[inst.handler] if inst.handler is not None else set()
            new = (after - stored) | read | kept
            if new != live[at]:
                live[at] = new
                changed = True
    return live[index]


_assigned: PerCode[frozenset[str]] = PerCode()


def assigned_cells(code: CodeType) -> frozenset[str]:
    """The variables of other functions, too, that a code may assign to or delete. A resume function
    has all of its function's code, and does not come to what is before the break."""
    known = _assigned.get(code)
    if known is not None:
        return known
    instructions = listing(code).instructions
    pending, reached = [0], {0}
    while pending:
        at = pending.pop()
        inst = instructions[at]
        goes_on = inst.opname not in END and inst.opname not in ALWAYS_JUMPS
        after = {at + 1 if goes_on else None, inst.target, inst.handler} - {None} - reached
        pending += [each for each in after if each is not None]
        reached.update(pending)
    found = (instructions[at] for at in reached)
    changing = (each.argval for each in found if each.opname in ("STORE_DEREF", "DELETE_DEREF"))
    return _assigned.set(code, frozenset(changing))


def argument_count(code: CodeType) -> int:
    """How many variables a call sets, `*` and `**` parameters included: the first ones."""
    return (
        code.co_argcount
        + code.co_kwonlyargcount
        + bool(code.co_flags & inspect.CO_VARARGS)
        + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    )


def only_raises(code: CodeType, index: int) -> bool:
    """Whether all ways from an instruction on end soon, and with an exception."""
    instructions = listing(code).instructions
    pending, seen = [index], {index}
    while pending:
        at = pending.pop()
        inst = instructions[at]
        if inst.opname in ("RAISE_VARARGS", "RERAISE"):
            continue
        after = [] if inst.opname in ALWAYS_JUMPS else [at + 1]
        after += [] if inst.target is None else [inst.target]
        if inst.opname in END or min(after) <= at or len(seen) > _FEW:
            return False
        pending += [each for each in after if each not in seen]
        seen.update(after)
    return True


_FEW = 200
"""So many instructions make an error's text."""
