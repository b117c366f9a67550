"""What an instruction does to the value stack and the locals, where that can be said beforehand.

The idea. Most instructions of transformed code move values about: they load, store, copy, swap,
pop. What they leave follows from what was there; nothing of the user's runs. So whoever follows an
execution need not look at all values again after each of them. An instruction's effect is a few
*operations* on a stack and a dictionary of locals:

    (LOAD, name)   (CONST, described)   (NULL_SLOT,)   (COPY, n)   (SWAP, n)
    (POP,)   (STORE, name)   (DELETE, name)
    (TOPS, pops, pushes)   takes some values and leaves new ones, which are to be looked at
    (MAKE, pops, pushes)   likewise, and the new ones hold those taken

None stands for anything else: code of the user's may have run, and all values are to be looked at.
TOPS_IF is TOPS for values of exact builtin types only, see `no_code_runs`.

Names are CPython's, of any version: an instruction that a version lacks is never met.
"""

from __future__ import annotations

import dis
import types
from array import array
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

import msgspec

from stepper._C import (
    CONST,
    COPY,
    DELETE,
    LOAD,
    MAKE,
    NULL_SLOT,
    POP,
    STORE,
    SWAP,
    TOPS,
    TOPS_IF,
    Moves,
    Viewed,
)
from stepper.debuggee.described import Described
from stepper.model.trace import Block
from stepper.support.disassembly import disassemble
from stepper.support.local_variables import local_uses
from stepper.uncompiled import keep_out

_encode = msgspec.msgpack.Encoder().encode

Operation = tuple[int, Any, Any]
Effect = tuple[Operation, ...] | None

_NOTHING = frozenset(
    {"RESUME", "NOP", "CACHE", "PRECALL", "KW_NAMES", "EXTENDED_ARG", "JUMP_FORWARD",
     "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "NOT_TAKEN"}
)  # fmt: skip
_ON_LOCALS = {"LOAD": LOAD, "STORE": STORE, "DELETE": DELETE}
# How many values these take, given their argument. They leave one.
_TAKES: dict[str, Callable[[int], int]] = {
    "BUILD_TUPLE": lambda n: n,
    "BUILD_LIST": lambda n: n,
    "BUILD_STRING": lambda n: n,
    "BUILD_SLICE": lambda n: n,
    "BUILD_CONST_KEY_MAP": lambda n: n + 1,
    "IS_OP": lambda n: 2,
    "LOAD_CLOSURE": lambda n: 0,
    "LOAD_DEREF": lambda n: 0,
}
# Likewise, where the values taken are of exact types (`no_code_runs`).
_TAKES_IF: dict[str, int] = {"BINARY_SUBSCR": 2, "TO_BOOL": 1, "LOAD_METHOD": 1, "LOAD_ATTR": 1}

_TESTS = frozenset(
    {"POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE",
     "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_NONE",
     "POP_JUMP_FORWARD_IF_NOT_NONE"}
)  # fmt: skip
_TESTED = frozenset({bool, type(None)})
_INDEXED = frozenset({tuple, list, dict})
_INDICES = frozenset({int, str})


def no_code_runs(opname: str, taken: list[Viewed], /) -> bool:
    """Whether a TOPS_IF instruction that takes these values runs no code of the user's."""
    kinds = [None if known.described is None else known.described.kind for known in taken]
    match opname:
        case "BINARY_SUBSCR":
            return kinds[0] in _INDEXED and kinds[1] in _INDICES
        case "TO_BOOL":
            return kinds[0] is bool
        case "LOAD_ATTR" | "LOAD_METHOD":
            return kinds[0] is types.ModuleType
    return opname in _TESTS and kinds[0] in _TESTED


class Plan:
    """What is known of a code object before it runs. Instructions are counted as `dis` does."""

    __slots__ = ("blocks", "calls", "first", "index", "moves")

    def __init__(self, code: CodeType, constant: Callable[[object], Described]) -> None:
        listed = disassemble(code)
        self.index = {each.offset: at for at, each in enumerate(listed)}
        names = [each.opname for each in listed]
        self.first = names.index("RESUME") + 1 if "RESUME" in names else 0
        """The first instruction that is more than a beginning."""
        self.calls = {at: taken for at, each in enumerate(listed) if (taken := taken_by_call(each))}
        """How many values each call takes: see `taken_by_call`."""
        cells = {*code.co_cellvars, *code.co_freevars}
        self.blocks = _blocks(code, listed, self.index)
        jumps = (*dis.hasjrel, *dis.hasjabs)
        packed = {blocks: _encode(blocks) for blocks in self.blocks}
        units = range(0, len(code.co_code), 2)
        self.moves = Moves(
            _ints(self.index.get(offset, -1) for offset in units),
            _ints(
                self.index.get(each.argval, -1) if each.opcode in jumps else -1 for each in listed
            ),
            [_effect(each, cells, constant) for each in listed],
            names,
            self.blocks,
            [packed[blocks] for blocks in self.blocks],
        )


def _ints(numbers: Iterable[int]) -> bytes:
    return array("i", numbers).tobytes()


def taken_by_call(instruction: dis.Instruction) -> int:
    """How many values a call takes, with the callee and what stands beside it; 0: it is none."""
    argument = instruction.arg or 0
    match instruction.opname:
        case "CALL":
            return argument + 2
        case "CALL_KW":
            return argument + 3
        case "CALL_FUNCTION_EX":
            # In 3.14 there is no argument: keywords or NULL are always there.
            return 4 if instruction.arg is None else 3 + (argument & 1)
    return 0


def _effect(
    instruction: dis.Instruction, cells: set[str], constant: Callable[[object], Described]
) -> Effect:
    name, argument, value = instruction.opname, instruction.arg or 0, instruction.argval
    if name in _NOTHING:
        return ()
    if (uses := local_uses(name, value)) and name != "LOAD_FAST_AND_CLEAR":
        if any(each in cells for _, each in uses):
            return None
        return tuple((_ON_LOCALS[verb], each, None) for verb, each in uses)
    if name in _TAKES:
        return ((MAKE if name.startswith("BUILD") else TOPS, _TAKES[name](argument), 1),)
    if name in _TAKES_IF:
        pushes = 2 if name == "LOAD_METHOD" else 1
        if name == "LOAD_ATTR" and "NULL" in instruction.argrepr:
            pushes = 2
        return ((TOPS_IF, _TAKES_IF[name], pushes),)
    if name in _TESTS:
        return ((TOPS_IF, 1, 0),)
    match name:
        case "LOAD_CONST" | "LOAD_SMALL_INT":
            return ((CONST, constant(value), None),)
        case "LOAD_GLOBAL":
            return ((TOPS, 0, 2 if "NULL" in instruction.argrepr else 1),)
        case "PUSH_NULL":
            return ((NULL_SLOT, None, None),)
        case "COPY" | "SWAP":
            return ((COPY if name == "COPY" else SWAP, argument, None),)
        case "POP_TOP" | "POP_ITER":
            return ((POP, None, None),)
    return None


def _blocks(
    code: CodeType, listed: list[dis.Instruction], index: dict[int, int]
) -> list[tuple[Block, ...]]:
    """For each instruction the exception handlers that are open there, outermost first.

    The table names the innermost one; what is around it covers its handler.
    """
    entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]  # no stub has it
    inner: dict[int, tuple[int, int, int]] = {}
    for entry in entries:
        covered = [index[at] for at in range(entry.start, entry.end, 2) if at in index]
        for at in covered:
            inner[at] = (covered[0], index[entry.target], entry.depth)
    found: list[tuple[Block, ...]] = []
    known: dict[tuple[Block, ...], tuple[Block, ...]] = {}
    for at in range(len(listed)):
        chain: list[Block] = []
        entry, seen = inner.get(at), set[int]()
        while entry is not None and entry[1] not in seen:
            start, target, depth = entry
            seen.add(target)
            chain.append(Block(start, target, depth))
            entry = inner.get(target)
        chain.reverse()
        # The same tuple for the same blocks, so that a change is seen at once.
        blocks = tuple(chain)
        found.append(known.setdefault(blocks, blocks))
    return found


keep_out()
