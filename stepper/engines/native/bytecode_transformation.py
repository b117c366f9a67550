"""Puts code together: a part before the program's own instructions, which stay as they are.

The `bytecode` package reads and writes codes. What it would get wrong is done here: how deep the
stack gets, and instructions that take two variables (`opcodes.PAIRS`). These cannot take variables
beyond the first 16, which one may be in the new code though it was not in the program's; the
package takes one apart for some of these and names a wrong variable for others. So each is copied
as two.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable
from types import CodeType
from typing import Any

from bytecode import Bytecode, Instr, Label

from stepper.engines.native import opcodes
from stepper.engines.native.opcodes import PYTHON, listing


def assemble(
    original: CodeType,
    body: list[Any],
    again: tuple[Label, list[Any]] | None,
    enter_at: tuple[Label, int] | None,
) -> CodeType:
    """The original code with other instructions at its beginning.

    again: the label of the handler that goes on with the program's code, and what it does before.
    enter_at: a label that the body jumps to, and the rank of the program's instruction there.

    The program's code stays behind them where one of the two leads to it.
    """
    listed = Bytecode.from_code(original, conserve_exception_block_stackdepth=True)
    prologue, rest, places = split(listed)
    made = Bytecode()
    copy_facts(listed, made)
    name_variables(made, listed.argnames, original.co_varnames)
    made.extend(prologue)
    made.extend(body)
    line = original.co_firstlineno
    if again is not None or enter_at is not None:
        if again is not None:
            failed = Label()
            handler, recovery = again
            made.extend(
                [
                    handler,
                    Instr("PUSH_EXC_INFO", lineno=line),
                    Instr("LOAD_CONST", Exception, lineno=line),
                    Instr("CHECK_EXC_MATCH", lineno=line),
                    Instr(
                        "POP_JUMP_FORWARD_IF_FALSE" if PYTHON == (3, 11) else "POP_JUMP_IF_FALSE",
                        failed,
                        lineno=line,
                    ),
                    Instr("POP_TOP", lineno=line),
                    Instr("POP_EXCEPT", lineno=line),
                    *recovery,
                    Instr("JUMP_FORWARD", start := Label(), lineno=line),
                    failed,
                    Instr("RERAISE", 0, lineno=line),
                    start,
                ]
            )
        if enter_at is not None:
            label, rank = enter_at
            rest.insert(places[rank], label)
        made.extend(rest)
    room = max(_room_for(body), _HANDLER_ROOM + _room_for(again[1] if again is not None else ()))
    return write_code(made, max(room, original.co_stacksize))


def copy_facts(source: Bytecode, target: Bytecode) -> None:
    """Give a code the name, arguments, closure and flags of another."""
    for name in (
        "argcount", "posonlyargcount", "kwonlyargcount", "name", "qualname", "filename",
        "first_lineno", "flags", "argnames", "docstring",
    ):  # fmt: skip
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
    target.freevars = list(source.freevars)
    target.cellvars = list(source.cellvars)


def name_variables(made: Bytecode, arguments: list[str], names: Iterable[str]) -> None:
    """Number a code's variables: its arguments, the program's own in the program's order, and then
    others. In that order the program sees them, as in the suggestions of a `NameError`."""
    # The package numbers these first, also those that are no arguments.
    made.argnames = list(dict.fromkeys([*arguments, *names]))


def split(listed: Bytecode) -> tuple[list[Any], list[Any], dict[int, int]]:
    """A code's prologue (up to RESUME), the rest with each pair taken apart, and where in the rest
    the instruction of a rank stands."""
    prologue: list[Any] = []
    rest: list[Any] = []
    places: dict[int, int] = {}
    rank = 0
    in_prologue = True
    for item in listed:
        if in_prologue:
            prologue.append(item)
            if isinstance(item, Instr) and item.name == "RESUME":
                in_prologue = False
            continue
        for each in _apart(item):
            if isinstance(each, Instr):
                places[rank] = len(rest)
                rank += 1
            rest.append(each)
    return prologue, rest, places


def _apart(item: Any) -> list[Any]:
    """The item of a listing as it is copied."""
    if not isinstance(item, Instr) or item.name not in opcodes.PAIRS:
        return [item]
    variables: Any = item.arg
    return [
        Instr(name, variable, location=item.location)
        for name, variable in zip(opcodes.PAIRS[item.name], variables, strict=True)
    ]


def copied_as(instruction: dis.Instruction | opcodes.Instruction) -> int:
    """How many instructions a copy has in this one's place."""
    if instruction.opname == "EXTENDED_ARG":
        return 0  # the package writes its own
    return 2 if instruction.opname in opcodes.PAIRS else 1


def rank_of(code: CodeType, index: int) -> int:
    """How many instructions a copy has between RESUME and the one of this index."""
    instructions = listing(code).instructions
    while instructions[index].opname == "EXTENDED_ARG":
        index += 1
    return sum(map(copied_as, instructions[opcodes.resume_index(code) + 1 : index]))


def write_code(made: Bytecode, room: int) -> CodeType:
    """The code, whose stack has room for so many values; handlers keep the depths that they have.

    The package would compute both. But it looks for them along paths that nobody takes, too, where
    it finds some handlers' depths too high, and running that corrupts memory, or gives up.
    """
    return made.to_code(stacksize=room, compute_exception_stack_depths=False)


_HANDLER_ROOM = 4
"""For an exception, the one before it, what it is compared with, and one to spare."""


def _room_for(items: Iterable[Any]) -> int:
    """How deep the stack gets in instructions that jump forwards only."""
    depth = deepest = 0
    depth_at: dict[Label, int] = {}
    for item in items:
        if isinstance(item, Label):
            depth = depth_at.get(item, depth)
        elif isinstance(item, Instr):
            if isinstance(item.arg, Label):
                depth_at[item.arg] = depth + item.stack_effect(jump=True)
            depth += item.stack_effect(jump=False)
            deepest = max(deepest, depth)
    return deepest
