"""Puts code together: a part before the program's own instructions, which stay as they are.

The `bytecode` package reads and writes codes; what it gets wrong about handlers is set right here.
"""

from __future__ import annotations

import dis
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
    enter_at: a label that the body jumps to, and the index of the program's instruction there.

    The program's code stays behind them where one of the two leads to it.
    """
    listed = Bytecode.from_code(original, conserve_exception_block_stackdepth=True)
    prologue, rest, places = split(listed)
    made = Bytecode()
    copy_facts(listed, made)
    made.extend(prologue)
    made.extend(body)
    line = original.co_firstlineno
    needs_rest = again is not None or enter_at is not None
    if needs_rest:
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
            label, index = enter_at
            rest.insert(places[index], label)
        made.extend(rest)
    code = made.to_code()
    return repair_handlers(code, original) if needs_rest else code


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


def split(listed: Bytecode) -> tuple[list[Any], list[Any], dict[int, int]]:
    """A code's prologue (up to RESUME), the rest, and where in the rest the instruction of an index
    stands."""
    prologue: list[Any] = []
    rest: list[Any] = []
    places: dict[int, int] = {}
    index = 0
    in_prologue = True
    for item in listed:
        if in_prologue:
            prologue.append(item)
            if isinstance(item, Instr) and item.name == "RESUME":
                in_prologue = False
            continue
        if isinstance(item, Instr):
            places[index] = len(rest)
            index += 1
        rest.append(item)
    return prologue, rest, places


def rank_of(code: CodeType, index: int) -> int:
    """The index of an instruction among those after RESUME, EXTENDED_ARG left out: what `split`
    calls its index."""
    instructions = listing(code).instructions
    resume = next(i for i, each in enumerate(instructions) if each.opname == "RESUME")
    while instructions[index].opname == "EXTENDED_ARG":
        index += 1
    return sum(each.opname != "EXTENDED_ARG" for each in instructions[resume + 1 : index])


def repair_handlers(code: CodeType, original: CodeType) -> CodeType:
    """Give the copied handlers their depths.

    The `bytecode` package computes some of them too high, and running that corrupts memory. The
    program's code is the end of the new code, so each handler is found in the original by counting
    from behind.
    """
    new = [each for each in dis.get_instructions(code) if each.opname != "EXTENDED_ARG"]
    old = [each for each in dis.get_instructions(original) if each.opname != "EXTENDED_ARG"]
    shift = len(new) - len(old)
    index_of = {each.offset: index for index, each in enumerate(new)}
    # A range can begin at an EXTENDED_ARG: take the instruction that follows.
    ends = [each.offset for each in new]
    table = opcodes.read_exception_table(original)
    entries = []
    for start, end, target, depth, lasti in opcodes.read_exception_table(code):
        at = index_of.get(start)
        if at is None:
            at = next(i for i, offset in enumerate(ends) if offset > start)
        if at - shift >= 0:
            offset = old[at - shift].offset
            covering = next((e for e in table if e[0] <= offset < e[1]), None)
            if covering is not None:
                depth, lasti = covering[3], covering[4]
        entries.append((start, end, target, depth, lasti))
    encoded = opcodes.encode_exception_table(entries)
    return code.replace(
        co_exceptiontable=encoded, co_stacksize=max(code.co_stacksize, original.co_stacksize + 2)
    )
