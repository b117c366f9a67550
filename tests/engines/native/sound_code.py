"""Finds what CPython's compiler would never write, in code that was put together by hand.

The interpreter trusts its compiler. From 3.12 on it reads a local variable without a look at
whether that is set, where the compiler has proved it; on all versions it trusts the stack to be as
deep as the instruction and the handler expect, and to have as much room as the code says. Code of
ours that breaks such a promise does not fail: it reads what lies there, and crashes later, or not.
So the promises are proved again, by data flow along all paths of the code, handlers included: what
is known before an instruction is what holds on every path to it.

Where the interpreter checks a variable itself, a program may well leave it unset: of those only
ours, which begin with `___`, must be set, for nobody wants an error of theirs.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import NamedTuple

from stepper.native.bytecode.bytecode_analysis import ALWAYS_JUMPS, END, argument_count
from stepper.native.bytecode.opcodes import PYTHON, Instruction, listing
from stepper.native.codegen.resume_info import info_of

CHECKS_LOADS = PYTHON < (3, 12)
"""Whether LOAD_FAST raises an error where the variable is not set."""

_CELL = 1 << 20
"""Added to a place: what is there is a cell, which may be empty."""

_OF_CELLS = frozenset(
    {"LOAD_CLOSURE", "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_CLASSDEREF",
     "LOAD_FROM_DICT_OR_DEREF"}
)  # fmt: skip


class State(NamedTuple):
    """What holds before an instruction on every path: which places of variables are set, by their
    number, and how many values are on the stack."""

    variables: frozenset[int]
    depth: int


def promises_broken(code: CodeType) -> list[str]:
    """What the interpreter would rely on in this code in vain; empty: it is sound."""
    return _Flow(code).run()


def prove(old: CodeType, new: CodeType) -> None:
    """Look at all that a translation of `old` made: the transformed code, and the resume functions
    that it calls. To be a bytecode hook: what is not sound never runs.

    Raises:
        AssertionError: something is not sound.
    """
    constants = [each for each in new.co_consts if isinstance(each, CodeType) and each is not old]
    resumes = [each for each in constants if info_of(each).function]
    broken = [text for code in (new, *resumes) for text in promises_broken(code)]
    assert broken == []


class _Flow:
    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.instructions, table = listing(code).instructions, listing(code).exception_table
        self.handlers = {i: each for each in reversed(table) for i in range(each.start, each.end)}
        cells = [name for name in code.co_cellvars if name not in code.co_varnames]
        self.names = [*code.co_varnames, *cells, *code.co_freevars]
        self.variables = [self._variables(each) for each in self.instructions]
        self.states: dict[int, State] = {}
        self.pending: list[int] = []
        self.broken: list[str] = []

    def run(self) -> list[str]:
        self._reach(0, State(frozenset(range(argument_count(self.code))), 0), None)
        while self.pending:
            self._follow(self.pending.pop())
        # Judged last: on the way more may seem to be set than is.
        for index, state in sorted(self.states.items()):
            self._judge(self.instructions[index], state)
        return self.broken

    def _say(self, inst: Instruction, what: str) -> None:
        text = f"{self.code.co_name}: {inst.index} {inst.opname} {inst.argval!r}: {what}"
        if text not in self.broken:
            self.broken.append(text)

    def _reach(self, index: int, state: State, origin: Instruction | None) -> None:
        known = self.states.get(index)
        if known is None:
            self.states[index] = state
            self.pending.append(index)
            return
        if known.depth != state.depth and origin is not None:
            self._say(origin, f"{index} is reached at depths {known.depth} and {state.depth}")
        both = known.variables & state.variables
        if both != known.variables:
            self.states[index] = State(both, known.depth)
            self.pending.append(index)

    def _follow(self, index: int) -> None:
        inst, state = self.instructions[index], self.states[index]
        entry = self.handlers.get(index)
        if entry is not None:
            self._reach(entry.target, State(state.variables, entry.depth + entry.lasti + 1), inst)
        _, set_, unset = self.variables[index]
        after = (state.variables | set_) - unset
        if inst.target is not None:
            self._reach(inst.target, State(after, _depth(inst, state.depth, True)), inst)
        if inst.opname not in END and inst.opname not in ALWAYS_JUMPS:
            self._reach(index + 1, State(after, _depth(inst, state.depth, False)), inst)

    def _judge(self, inst: Instruction, state: State) -> None:
        needed = self.variables[inst.index][0]
        for place in sorted(needed - state.variables):
            kind = "the cell" if place & _CELL else "variable"
            self._say(inst, f"{kind} {self.names[place & ~_CELL]} may not be set")
        entry = self.handlers.get(inst.index)
        if entry is not None and entry.depth > state.depth:
            self._say(inst, f"its handler expects depth {entry.depth}, not {state.depth}")
        deepest = max(_depth(inst, state.depth, jump) for jump in (True, False))
        if deepest > self.code.co_stacksize:
            self._say(inst, f"depth {deepest}, but there is room for {self.code.co_stacksize}")
        if inst.opname.startswith("RETURN_") and inst.opname != "RETURN_GENERATOR" and deepest:
            self._say(inst, f"it leaves {deepest} values on the stack")
        if deepest < 0:
            self._say(inst, f"it takes {-deepest} values more than there are")

    def _variables(self, inst: Instruction) -> tuple[set[int], set[int], set[int]]:
        """The places that must be set before an instruction, those that are once it has been
        passed, and those that are not any more."""
        nothing: set[int] = set()
        place = inst.arg or 0
        match inst.opname:
            case "LOAD_FAST" | "LOAD_FAST_BORROW" | "LOAD_FAST_CHECK":
                checked = CHECKS_LOADS or inst.opname == "LOAD_FAST_CHECK"
                return {place} if self._is_ours(place) or not checked else nothing, {place}, nothing
            case "LOAD_FAST_LOAD_FAST" | "LOAD_FAST_BORROW_LOAD_FAST_BORROW":
                return {place >> 4, place & 15}, nothing, nothing
            case "STORE_FAST":
                return nothing, {place}, nothing
            case "STORE_FAST_STORE_FAST":
                return nothing, {place >> 4, place & 15}, nothing
            case "STORE_FAST_LOAD_FAST":
                return {place & 15} - {place >> 4}, {place >> 4}, nothing
            case "DELETE_FAST":  # checked on all versions
                return {place} if self._is_ours(place) else nothing, nothing, {place}
            case "LOAD_FAST_AND_CLEAR":
                return nothing, nothing, {place}
            case "MAKE_CELL":
                return nothing, {place, _CELL + place}, nothing
            case "COPY_FREE_VARS":
                free = range(len(self.names) - place, len(self.names))
                return nothing, {*free, *(_CELL + each for each in free)}, nothing
        return {_CELL + place} if inst.opname in _OF_CELLS else nothing, nothing, nothing

    def _is_ours(self, place: int) -> bool:
        return self.names[place].startswith("___")


def _depth(inst: Instruction, before: int, jump: bool) -> int:
    """How many values are on the stack after an instruction."""
    if inst.opname == "RETURN_GENERATOR":
        return 1  # what is sent first
    if inst.opname == "RETURN_VALUE":
        return before - 1  # told as 0 from Python 3.14 on
    argument = inst.arg if inst.opcode >= dis.HAVE_ARGUMENT else None
    return before + dis.stack_effect(inst.opcode, argument, jump=jump)
