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
from dataclasses import dataclass
from types import CodeType
from typing import Any

from stepper.native.bytecode import opcodes
from stepper.native.bytecode.opcodes import listing
from stepper.support.bytecode_package import (
    UNSET,
    Bytecode,
    Instr,
    Label,
    TryBegin,
    TryEnd,
    listing_of,
)

Items = list[Any]
"""Instructions, and labels and the ends of handlers' ranges between them."""


@dataclass(frozen=True, slots=True)
class Program:
    """A code as it was read, to be copied from: nothing in it is changed.

    prologue: its instructions up to RESUME.
    rest: those behind it, each pair taken apart.
    places: where in the rest the instruction of a rank stands.
    """

    code: CodeType
    facts: Bytecode
    prologue: Items
    rest: Items
    places: dict[int, int]

    @classmethod
    def of(cls, code: CodeType) -> Program:
        """Read a code."""
        facts = listing_of(code)
        return cls(code, facts, *split(facts))

    def instruction(self, rank: int) -> Instr:
        """A copy of the instruction of this rank."""
        found: Instr = self.rest[self.places[rank]]
        return found.copy()


def assemble(
    program: Program,
    body: Items,
    again: tuple[Label, Items] | None,
    entered: list[tuple[Label, int]],
) -> CodeType:
    """The program's code with other instructions at its beginning.

    again: the label of the handler that goes on with the program's code, and what it does before.
    entered: labels that the body jumps to, each with the rank of the program's instruction there.

    The program's code stays behind them where something leads to it.
    """
    original, rest = program.code, list(program.rest)
    made = Bytecode()
    copy_facts(program.facts, made)
    name_variables(made, program.facts.argnames, original.co_varnames)
    made.extend(program.prologue)
    made.extend(body)
    line = original.co_firstlineno
    if again is not None:
        made.extend(_handler(*again, line))
    for label, rank in sorted(entered, key=lambda each: each[1], reverse=True):
        at = program.places[rank]
        rest.insert(at, label)
        if opcodes.JUMPS_WANT_BOOLS and rest[at + 1].name.startswith(opcodes.JUMPS_ON_TRUTH):
            # A value for whose truth the graph was broken is asked for it here.
            rest.insert(at + 1, Instr("TO_BOOL", location=rest[at + 1].location))
    if again is not None or entered:
        made.extend(rest)
    room = max(_room_for(body), _HANDLER_ROOM + _room_for(again[1] if again is not None else ()))
    return write_code(made, max(room, original.co_stacksize))


def _handler(label: Label, recovery: Items, line: int) -> Items:
    """What goes on behind it after an exception; what is no Exception is raised again.

    As the compiler writes it: whatever comes meanwhile, nothing is being handled afterwards.
    """

    def instr(name: str, argument: Any = UNSET) -> Instr:
        return Instr(name, argument, lineno=line)

    other, ended, start = Label(), Label(), Label()
    matching = TryBegin(ended, push_lasti=True, stack_depth=1)
    raising = TryBegin(ended, push_lasti=True, stack_depth=1)
    return [
        label,
        instr("PUSH_EXC_INFO"),
        matching,
        instr("LOAD_CONST", Exception),
        instr("CHECK_EXC_MATCH"),
        instr(opcodes.JUMP_IF_FALSE, other),
        instr("POP_TOP"),
        TryEnd(matching),
        instr("POP_EXCEPT"),
        *recovery,
        instr("JUMP_FORWARD", start),
        other,
        raising,
        instr("RERAISE", 0),
        TryEnd(raising),
        ended,
        instr("COPY", 3),
        instr("POP_EXCEPT"),
        instr("RERAISE", 1),
        start,
    ]


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


def split(listed: Bytecode) -> tuple[Items, Items, dict[int, int]]:
    """A code's prologue (up to RESUME), the rest with each pair taken apart, and where in the rest
    the instruction of a rank stands."""
    prologue: Items = []
    rest: Items = []
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


def _apart(item: Any) -> Items:
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


_HANDLER_ROOM = 5
"""For an exception, where it was raised, the one before it, its copy, and one to spare."""


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
