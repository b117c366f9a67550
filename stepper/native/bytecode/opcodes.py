"""Instructions, and all that differs between the bytecodes of CPython 3.11 to 3.14.

The interpreter has one method per opcode of any version, so names need no table. What does need one
is what the same name means: how an argument is packed, what stands in which order below a call,
what a loop leaves on the stack. Everything else in this package asks here.

Instructions are those of `dis`, in its order and with its numbers, so that an index means the same
to the interpreter, to the recording and to a reader of `dis.dis`. EXTENDED_ARG stays among them and
does nothing.
"""

from __future__ import annotations

import dis
import opcode
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import CodeType
from typing import Any

from stepper.support.disassembly import disassemble
from stepper.support.per_object import PerCode

PYTHON = sys.version_info[:2]

COMPARE_SHIFT = {(3, 11): 0, (3, 12): 4, (3, 13): 5, (3, 14): 5}[PYTHON]
"""Where COMPARE_OP's argument has the number of the operator."""

METHOD_FLAG_IN_LOAD_ATTR = PYTHON >= (3, 12)
"""LOAD_ATTR also loads methods, and says so in the lowest bit of its argument."""

CALLABLE_BELOW_NULL = PYTHON >= (3, 13)
"""A call's stack is callable, self or NULL, arguments; before, the first two changed places."""

ITERATOR_STAYS = PYTHON >= (3, 13)
"""An exhausted FOR_ITER leaves its iterator."""

POP_ITERATOR = "POP_ITER" if PYTHON >= (3, 14) else "POP_TOP"
"""Which instruction drops that."""

END_FOR = PYTHON >= (3, 12)
"""FOR_ITER jumps to an END_FOR that it passes over."""

SENT_TO_STAYS = PYTHON >= (3, 12)
"""A SEND to what has ended leaves that below the result, for an END_SEND."""

JUMPS_WANT_BOOLS = PYTHON >= (3, 13)
"""A conditional jump takes a bool, which a COMPARE_OP or TO_BOOL has made."""

EMPTY_SLOT_NAMES_MODULE = PYTHON >= (3, 13)
"""The error of a slot that holds nothing names the module of the object's class, too."""

JUMPS_ON_TRUTH = ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE")
"""Those jumps."""

JUMP_IF_TRUE = "POP_JUMP_FORWARD_IF_TRUE" if PYTHON == (3, 11) else "POP_JUMP_IF_TRUE"
JUMP_IF_FALSE = "POP_JUMP_FORWARD_IF_FALSE" if PYTHON == (3, 11) else "POP_JUMP_IF_FALSE"
"""Which instructions jump forwards."""

PRECALL = PYTHON == (3, 11)
"""PRECALL stands before CALL."""

FUNCTION_ATTRIBUTES_APART = PYTHON >= (3, 13)
"""MAKE_FUNCTION has no argument; SET_FUNCTION_ATTRIBUTE follows."""

ALWAYS_A_KEYWORD_SLOT = PYTHON >= (3, 14)
"""CALL_FUNCTION_EX takes keyword arguments or NULL; before, its argument says which."""

EXIT_BELOW_SELF = PYTHON >= (3, 14)
"""A `with` block keeps its exit function, and above it self or NULL, for a call of both."""

NULL_IS_POPPED = EXIT_BELOW_SELF
"""POP_TOP takes a NULL, too: so a block's is taken from the stack when it has been left."""

SPECIAL_METHODS: tuple[str, ...] = tuple(getattr(opcode, "_special_method_names", ()))
"""By LOAD_SPECIAL's argument."""

COMMON_CONSTANTS: tuple[object, ...] = tuple(getattr(opcode, "_common_constants", ()))
"""By LOAD_COMMON_CONSTANT's argument."""

_templates = import_module("string.templatelib") if PYTHON >= (3, 14) else None
TEMPLATE: type | None = getattr(_templates, "Template", None)
INTERPOLATION: type | None = getattr(_templates, "Interpolation", None)
TEMPLATE_ITERATOR = type(iter(TEMPLATE())) if TEMPLATE else None
"""The classes of t-strings; None: there are none."""

INTERPOLATION_HAS_SPEC = 1
INTERPOLATION_CONVERSION = 2
"""In BUILD_INTERPOLATION's argument: the bit of a format, and where the number of the conversion
begins."""

LOAD_CLOSURE = "LOAD_FAST" if PYTHON >= (3, 13) else "LOAD_CLOSURE"
"""Which instruction pushes a cell."""

PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST_BORROW", "LOAD_FAST_BORROW"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
"""Instructions that are two (3.13 on). They have four bits for the number of a variable."""

_BINARY: dict[str, Callable[..., object]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift, "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul,
    "/=": operator.itruediv, "//=": operator.ifloordiv, "%=": operator.imod,
    "**=": operator.ipow, "@=": operator.imatmul, "&=": operator.iand, "|=": operator.ior,
    "^=": operator.ixor, "<<=": operator.ilshift, ">>=": operator.irshift,
    "[]": operator.getitem,
}  # fmt: skip
BINARY_OPERATORS = [_BINARY[symbol] for _, symbol in opcode._nb_ops]  # type: ignore[attr-defined]  # no stub has it
"""By BINARY_OP's argument."""
ADD = BINARY_OPERATORS.index(operator.add)
SUBSCRIPT = BINARY_OPERATORS.index(operator.getitem) if PYTHON >= (3, 14) else None
"""None: BINARY_SUBSCR is an instruction of its own."""

_COMPARE = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq,
    "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


def compare_operator(arg: int) -> Callable[[Any, Any], object]:
    """The operator of a COMPARE_OP."""
    return _COMPARE[dis.cmp_op[arg >> COMPARE_SHIFT]]


@dataclass(slots=True, eq=False)
class Instruction:
    """One instruction; the fields are those of Dynamo's `Instruction`."""

    index: int
    opcode: int
    opname: str
    arg: int | None
    argval: Any
    offset: int
    starts_line: int | None
    is_jump_target: bool
    target: int | None
    """Index of the instruction that it may jump to."""
    handler: int | None = None
    """Index of the instruction where an exception goes on."""


@dataclass(slots=True, frozen=True)
class ExceptionTableEntry:
    """A range of a code's exception table, in indices of instructions, the end excluded."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


@dataclass(slots=True, frozen=True)
class Listing:
    """A code object as the interpreter reads it."""

    instructions: tuple[Instruction, ...]
    exception_table: tuple[ExceptionTableEntry, ...]


_listings: PerCode[Listing] = PerCode()


def listing(code: CodeType) -> Listing:
    """The code's instructions; the same objects each time."""
    return _listings.get(code) or _listings.set(code, _read(code))


def resume_index(code: CodeType) -> int:
    """The index of the RESUME with which the code's own instructions begin."""
    return next(i for i, each in enumerate(listing(code).instructions) if each.opname == "RESUME")


def _read(code: CodeType) -> Listing:
    read = disassemble(code)
    index_of = {instruction.offset: index for index, instruction in enumerate(read)}
    line = None
    instructions = []
    for index, each in enumerate(read):
        if each.positions is not None and each.positions.lineno is not None:
            line = each.positions.lineno
        jump = each.opcode in _JUMPS
        instructions.append(
            Instruction(
                index, each.opcode, each.opname, each.arg, each.argval, each.offset, line,
                each.is_jump_target, index_of[each.argval] if jump else None,
            )
        )  # fmt: skip
    table = []
    for start, end, target, depth, lasti in _exception_table(code.co_exceptiontable):
        covered = [i for i, each in enumerate(read) if start <= each.offset < end]
        if not covered:
            continue
        entry = ExceptionTableEntry(covered[0], covered[-1] + 1, index_of[target], depth, lasti)
        table.append(entry)
        for index in covered:
            instructions[index].handler = entry.target
    return Listing(tuple(instructions), tuple(table))


def _exception_table(table: bytes) -> list[tuple[int, int, int, int, bool]]:
    """Decode `co_exceptiontable`: start, end and target in bytes, depth, lasti."""
    entries: list[tuple[int, int, int, int, bool]] = []
    bytes_ = iter(table)

    def number() -> int:
        byte = next(bytes_)
        value = byte & 63
        while byte & 64:
            byte = next(bytes_)
            value = value << 6 | byte & 63
        return value

    while True:
        try:
            start = number() * 2
        except StopIteration:
            return entries
        end = start + number() * 2
        target = number() * 2
        depth_lasti = number()
        entries.append((start, end, target, depth_lasti >> 1, bool(depth_lasti & 1)))


def handler_of(code: CodeType, index: int) -> ExceptionTableEntry | None:
    """Where an exception of the instruction goes on; None: in the caller."""
    table = listing(code).exception_table
    return next((entry for entry in table if entry.start <= index < entry.end), None)
