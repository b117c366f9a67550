"""Bytecode as text that a person can edit, and back.

One line for each instruction: its name and its argument. Names, numbers and literals are written as
in Python; `L1` is a place that is jumped to; a constant that is no literal (a code object, a
function) is `@N`, the number of a constant in the code that the text was made from.

        RESUME 0
        LOAD_FAST x
        LOAD_CONST 2.0
        BINARY_OP BinaryOp.MULTIPLY
        RETURN_VALUE

What a handler covers stands between `TRY L2 depth=1` and `END`: an exception there goes on at L2,
with one value left on the stack (`lasti`: and with the place where it happened above it).

The `bytecode` package assembles it: it numbers names and constants, sizes jumps, writes tables. It
cannot be trusted with the depths of handlers (for some nested ones it computes too much, and a
wrong depth makes the interpreter read memory that is not the frame's), so they are in the text and
it only writes them down. Then the result is read back: its text must be the text that was asked
for, and every value that an instruction or a handler takes must be on the stack.
"""

from __future__ import annotations

import ast
import dis
import math
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from types import CodeType
from typing import Any

from stepper.model.cache import CacheError
from stepper.support.bytecode_package import (
    CellVar,
    FreeVar,
    Instr,
    Label,
    TryBegin,
    TryEnd,
    instruction,
    listing_of,
)
from stepper.support.bytecode_package import instr as kinds
from stepper.support.disassembly import disassemble
from stepper.support.stack_depths import ENDS_A_PATH
from stepper.support.words import one_of

_ENUMS = {
    name: kind
    for name, kind in vars(kinds).items()
    if isinstance(kind, type) and issubclass(kind, int) and hasattr(kind, "__members__")
}
_LITERALS = (bool, int, float, str, bytes, type(None))
_NAMED = frozenset((*dis.haslocal, *dis.hasname))


class AssemblyError(CacheError):
    """The text cannot be made into code; the message names the line."""


def to_text(code: CodeType) -> str:
    """A code's instructions as text."""
    return "\n".join(_lines(code)) + "\n"


def from_text(text: str, original: CodeType) -> CodeType:
    """The code with other instructions: name, arguments, closure and flags stay as they are.

    Instructions that stand as they were keep their lines; new ones take that of the one before.

    Raises:
        AssemblyError: a line is not understood, or the code would not be safe to run.
    """
    lines = [line.strip() for line in text.splitlines()]
    wanted = [line for line in lines if line and not line.startswith("#")]
    listing = listing_of(original)
    listing[:] = _Reader(wanted, original, _locations(wanted, original)).items
    # All names of the original keep their places, also those that are not used any more: Dynamo
    # wants at least as many locals as the program's code has.
    listing.argnames = list(original.co_varnames)
    try:
        made = listing.to_code(
            stacksize=original.co_stacksize, compute_exception_stack_depths=False
        )
    except Exception as error:  # whatever the package objects to
        raise AssemblyError(f"the instructions cannot be assembled: {error}") from None
    again = list(_lines(made, names=original))
    if _renamed(again) != _renamed(wanted):
        wrong = next(
            (f"{was!r} became {now!r}" for was, now in zip(wanted, again, strict=False)
             if was != now), "lines are missing",
        )  # fmt: skip
        raise AssemblyError(f"the instructions did not survive being assembled: {wrong}")
    if made.co_freevars != original.co_freevars or made.co_cellvars != original.co_cellvars:
        raise AssemblyError("the variables that are shared with other functions must stay the same")
    return made.replace(co_stacksize=max(original.co_stacksize, stack_size(made)))


# -- to text -----------------------------------------------------------------------------------


def _lines(code: CodeType, *, names: CodeType | None = None) -> Iterator[str]:
    constants = _Constants(names or code)
    labels: dict[Label, str] = {}

    def label(of: object) -> str:
        assert isinstance(of, Label)
        return labels.setdefault(of, f"L{len(labels) + 1}")

    for item in listing_of(code):
        match item:
            case Label():
                yield f"{label(item)}:"
            case TryBegin():
                lasti = " lasti" if item.push_lasti else ""
                yield f"TRY {label(item.target)} depth={item.stack_depth}{lasti}"
            case TryEnd():
                yield "END"
            case Instr():
                argument = item.arg
                if argument is kinds.UNSET:
                    yield item.name
                elif isinstance(argument, Label):
                    yield f"{item.name} {label(argument)}"
                elif item.opcode in dis.hasconst:
                    yield f"{item.name} {constants.text(argument)}"
                else:
                    yield f"{item.name} {_argument(argument)}"


def _argument(value: Any) -> str:
    match value:
        case CellVar():
            return f"cell {value.name}"
        case FreeVar():
            return f"free {value.name}"
        case str():
            return value if value.isidentifier() else repr(value)
        case tuple():
            return f"({', '.join(_argument(part) for part in value)})"
        case _ if type(value).__name__ in _ENUMS:
            return f"{type(value).__name__}.{value.name}"
        case _:
            return repr(value)


class _Constants:
    """The constants that a text refers to by number."""

    def __init__(self, code: CodeType) -> None:
        self._all = code.co_consts

    def text(self, value: object) -> str:
        if _is_literal(value):
            return repr(value)
        for index, constant in enumerate(self._all):
            if constant is value:
                return f"@{index}"
        return "@?"

    def value(self, text: str) -> Any:
        if text.startswith("@"):
            number = text[1:]
            if not number.isdecimal() or int(number) >= len(self._all):
                raise ValueError(f"there is no constant {text}")
            return self._all[int(number)]
        return ast.literal_eval(text)


def _is_literal(value: object) -> bool:
    kind = type(value)
    if kind is tuple:
        return all(_is_literal(part) for part in value)  # type: ignore[attr-defined]  # its exact type was asked for
    if kind is float and not math.isfinite(value):  # type: ignore[arg-type]  # its exact type was asked for
        return False
    return one_of(kind, _LITERALS)


def _renamed(lines: Iterable[str]) -> list[str]:
    """The lines with their labels numbered in the order in which they are met."""
    numbers: dict[str, str] = {}
    found = []
    for line in lines:
        words = line.split(" ")
        for place, word in enumerate(words):
            bare = word.removesuffix(":")
            is_label = bare[:1] == "L" and bare[1:].isdecimal()
            if is_label and (place == 0 or words[0] == "TRY" or _jumps(words[0])):
                words[place] = word.replace(bare, numbers.setdefault(bare, f"L{len(numbers) + 1}"))
        found.append(" ".join(words))
    return found


def _jumps(opname: str) -> bool:
    opcode = dis.opmap.get(opname, -1)
    return opcode in dis.hasjrel or opcode in dis.hasjabs


# -- from text ---------------------------------------------------------------------------------


class _Reader:
    """Reads the lines into the package's items."""

    def __init__(self, lines: list[str], original: CodeType, locations: list[Any]) -> None:
        self.items: list[Any] = []
        self._constants = _Constants(original)
        self._labels: dict[str, Label] = {}
        placed: set[str] = set()
        region: TryBegin | None = None
        for line, location in zip(lines, locations, strict=True):
            word, _, rest = line.partition(" ")
            rest = rest.strip()
            try:
                if word.endswith(":") and not rest:
                    placed.add(word[:-1])
                    self.items.append(self._label(word[:-1]))
                elif word == "TRY":
                    if region is not None:
                        raise ValueError("the region before has no END")
                    region = self._region(rest)
                    self.items.append(region)
                elif word == "END":
                    if region is None:
                        raise ValueError("no region has begun")
                    self.items.append(TryEnd(region))
                    region = None
                else:
                    self.items.append(self._instruction(word, rest, location))
            except (ValueError, TypeError, SyntaxError, AttributeError) as error:
                raise AssemblyError(f"{line!r}: {error}") from None
        if region is not None:
            raise AssemblyError("a TRY has no END")
        for name in self._labels:
            if name not in placed:
                raise AssemblyError(f"nothing is labelled {name}")

    def _label(self, name: str) -> Label:
        return self._labels.setdefault(name, Label())

    def _region(self, text: str) -> TryBegin:
        target, depth, *rest = text.split()
        if not depth.startswith("depth=") or rest not in ([], ["lasti"]):
            raise ValueError("write TRY LABEL depth=N, then lasti or nothing")
        return TryBegin(self._label(target), bool(rest), int(depth.removeprefix("depth=")))

    def _instruction(self, name: str, text: str, location: Any) -> Instr:
        if name not in dis.opmap:
            raise ValueError(f"{name} is no instruction of this Python")
        opcode = dis.opmap[name]
        argument: Any
        if not text:
            return Instr(name, location=location)
        if _jumps(name):
            argument = self._label(text)
        elif opcode in dis.hasconst:
            argument = self._constants.value(text)
        else:
            argument = _read_argument(text, named=opcode in _NAMED)
        return instruction(name, argument, location)


def _read_argument(text: str, *, named: bool) -> Any:
    kind, _, name = text.partition(" ")
    if kind == "cell" and name:
        return CellVar(name)
    if kind == "free" and name:
        return FreeVar(name)
    if named and text.isidentifier():
        return text
    return _from_ast(ast.parse(text, mode="eval").body)


def _from_ast(node: ast.expr) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return node.id
        case ast.Tuple():
            return tuple(_from_ast(part) for part in node.elts)
        case ast.Attribute(value=ast.Name(id=kind)) if kind in _ENUMS:
            return _ENUMS[kind][node.attr]  # type: ignore[index]  # enumerations, all of them
    raise ValueError(f"{ast.unparse(node)} is no argument")


def _locations(lines: list[str], original: CodeType) -> list[Any]:
    """Where each line's instruction comes from: what stands as it was keeps its place."""
    items = list(listing_of(original))
    before = list(_lines(original))
    found: list[Any] = [None] * len(lines)
    matcher = SequenceMatcher(None, before, lines, autojunk=False)
    for start, at, size in matcher.get_matching_blocks():
        for offset in range(size):
            found[at + offset] = getattr(items[start + offset], "location", None)
    last = None
    for index, location in enumerate(found):
        last = location or last
        found[index] = location or last
    return found


# -- the stack ---------------------------------------------------------------------------------


def stack_size(code: CodeType) -> int:
    """How deep a code's stack gets; every path through it is followed.

    Raises:
        AssemblyError: an instruction takes more than there is, two paths meet with different
            depths, or a handler expects more than there is.
    """
    listed = disassemble(code)
    index_of = {instruction.offset: index for index, instruction in enumerate(listed)}
    handlers = dis._parse_exception_table(code)  # type: ignore[attr-defined]  # no stub has it
    depths: dict[int, int] = {0: 0}
    waiting = [0]
    deepest = 0

    def reach(index: int, depth: int) -> None:
        nonlocal deepest
        known = depths.setdefault(index, depth)
        deepest = max(deepest, depth)
        if known != depth:
            name = listed[index].opname
            raise AssemblyError(f"{name} is reached with {known} and with {depth} on the stack")
        if index not in done:
            done.add(index)
            waiting.append(index)

    done = {0}
    while waiting:
        index = waiting.pop()
        instruction, depth = listed[index], depths[index]
        argument = instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None
        for handler in handlers:
            if handler.start <= instruction.offset < handler.end:
                if handler.depth > depth:
                    raise AssemblyError(
                        f"{instruction.opname}: its handler keeps {handler.depth} values, and "
                        f"{depth} are on the stack"
                    )
                reach(index_of[handler.target], handler.depth + handler.lasti + 1)
        after = depth + dis.stack_effect(instruction.opcode, argument, jump=False)
        if instruction.opname == "RETURN_GENERATOR":
            after = depth + 1  # told as 0 before Python 3.13
        if after < 0:
            raise AssemblyError(f"{instruction.opname} takes more than is on the stack")
        if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
            jump = depth + dis.stack_effect(instruction.opcode, argument, jump=True)
            reach(index_of[instruction.argval], jump)
        if instruction.opname not in ENDS_A_PATH and index + 1 < len(listed):
            reach(index + 1, after)
    return deepest
