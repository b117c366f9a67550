"""Where the interpreter of a frame may be told to go on, and what lies on its stack there.

The rules are those by which CPython lets a debugger set `frame.f_lineno`, a little stricter: what
CPython would leave half done (a `with` block whose exit never runs, an exception that is being
handled) is refused, since compiled code would leave it half done at each call.

The idea. Each value on the stack is known by the instruction that put it there; that is the same
whichever way was taken to a place. So a place can be gone to when what lies on the stack there is
what lies on it now, but for values on top that are dropped. `dis.stack_effect` says how many values
an instruction leaves; which of those below it has touched, its name says.
"""

from __future__ import annotations

import dis
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from stepper.model.program import Code, Instruction
from stepper.model.resume_names import resumed_name

Covering = tuple[int, int, bool] | None
"""The handler of an instruction: its index, how much of the stack it keeps, and whether it gets the
instruction that raised, too."""

NOT_TRACED = (
    "what stands here is not being compiled, so no instruction can be left out: jump at a stop in "
    "a translation (b FILE:LINE)"
)

_TOUCHES_NONE = (
    "LOAD_FAST", "LOAD_CONST", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_SMALL", "PUSH_NULL",
    "COPY", "LOAD_CLOSURE", "LOAD_BUILD_CLASS", "LOAD_ASSERTION_ERROR", "FOR_ITER", "LOAD_COMMON",
    "WITH_EXCEPT_START", "GET_LEN", "MATCH_MAPPING", "MATCH_SEQUENCE", "MATCH_KEYS", "LOAD_LOCALS",
    "LOAD_CLASSDEREF", "GET_ANEXT", "IMPORT_FROM", "POP_", "STORE_", "DELETE_", "END_FOR", "LIST_",
    "SET_", "MAP_ADD", "DICT_", "RETURN_", "RAISE_", "RERAISE", "END_ASYNC", "CLEANUP_THROW", "NOP",
    "RESUME", "CACHE", "EXTENDED_ARG", "MAKE_CELL", "NOT_TAKEN", "KW_NAMES", "JUMP_", "IMPORT_STAR",
    "JUMP_IF",
)  # fmt: skip
"""Beginnings of the names of instructions that only push, only drop, or leave the stack alone."""
_MAKES_SEVERAL = frozenset(
    {"LOAD_ATTR", "LOAD_METHOD", "BEFORE_WITH", "BEFORE_ASYNC_WITH", "PUSH_EXC_INFO",
     "UNPACK_SEQUENCE", "UNPACK_EX", "LOAD_SPECIAL"}
)  # fmt: skip
"""Instructions that take one value and may leave several."""
_ENDS = ("RETURN_", "RAISE_", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "INTERPRETER_EXIT")

_Stack = tuple[int, ...]
"""The instructions that made the values, the deepest first; what a handler finds: less than 0."""


class Landing(NamedTuple):
    """Where it goes on."""

    to: int
    depth: int
    """How much of the stack stays."""
    words: str
    back: bool
    """To a line before."""

    @property
    def told(self) -> str:
        """What is done, and what that comes to."""
        between = "has what lies between twice" if self.back else "leaves out what lies between"
        return f"{self.words}: what is compiled from here {between}, for every call that it serves"


def landing(
    code: Code,
    at: int,
    line: int,
    covering: Sequence[Covering],
    depth: int,
    bound: Collection[str],
) -> Landing:
    """Where a frame goes on that jumps to a line.

    Args:
        code: what it interprets.
        at: the instruction before which it stands.
        line: where it is to go on.
        covering: the handler of each instruction.
        depth: how many values lie on its stack.
        bound: the variables that have a value.

    Raises:
        LookupError: it cannot go on there; the message says why, and what can be done.
    """
    rows = code.instructions
    begin = next((each.index + 1 for each in rows if each.opname == "RESUME"), 0)
    if at < begin or rows[at].line is None:
        raise LookupError(
            f"{resumed_name(code.label)} has not begun with its first line yet: step on to it "
            "(line), then jump"
        )
    starts = [
        each.index
        for before, each in zip((None, *rows), rows, strict=False)
        if each.index >= begin
        and each.line == line
        and (before is None or before.index < begin or before.line != line)
    ]
    if not starts:
        raise LookupError(_no_code(code, line, begin))
    stacks = _stacks(rows, covering)
    here = stacks[at]
    if here is None or len(here) != depth:
        raise LookupError(
            f"what lies on the stack at line {rows[at].line} is not known: step to the beginning "
            "of a line (line), then jump"
        )
    refused = ""
    fitting: list[Landing] = []
    for start in starts:
        why = _refusal(rows, covering, stacks, at, start)
        if not why and (name := _unset(rows, covering, start, bound)):
            why = (
                f"from line {line} on {name} is read, which has no value yet: jump to a line that "
                "gives it one, or to one behind its last use"
            )
        if not why:
            words = f"jump from line {rows[at].line} to line {line} in {resumed_name(code.label)}"
            fitting.append(Landing(start, len(stacks[start] or ()), words, start <= at))
        refused = refused or why
    if not fitting:
        raise LookupError(refused)
    return max(fitting, key=lambda each: each.depth)


def _no_code(code: Code, line: int, begin: int) -> str:
    known = sorted({each.line for each in code.instructions[begin:] if each.line is not None})
    after = next((each for each in known if each > line), None)
    before = next((each for each in reversed(known) if each < line), None)
    near = " and ".join(str(each) for each in (before, after) if each is not None)
    return (
        f"line {line} has no code in {resumed_name(code.label)} here, which goes from line "
        f"{known[0]} to {known[-1]}; the nearest that has: {near}"
    )


def _refusal(
    rows: Sequence[Instruction],
    covering: Sequence[Covering],
    stacks: Sequence[_Stack | None],
    at: int,
    to: int,
) -> str:
    """Why it cannot go on there; empty: it can."""
    here, there = stacks[at] or (), stacks[to]
    line, own = rows[to].line, rows[at].line
    if there is None:
        return f"nothing leads to line {line} but a jump: the compiler has left it out already"
    around, around_there = list(_handlers(covering, at)), list(_handlers(covering, to))
    entered = [_block(rows, each) for each in around_there if each not in around][:1]
    entered += [
        kind
        for kind in ("with", "except", "for")
        if kind in {_kind(rows, made) for made in there[_common(here, there) :]}
    ]
    if entered:
        word = "loop" if entered[0] == "for" else "block"
        return (
            f"line {line} is within {_named(entered[0])} {word} that line {own} is not in: jump to "
            f"where that {word} begins, and step into it"
        )
    if _common(here, there) < len(there):
        return (
            f"line {line} goes on with values that are not on the stack at line {own}: it is in "
            "the midst of an expression; jump to where that begins"
        )
    left = {_kind(rows, made) for made in here[len(there) :]}
    left |= {"with" for each in around if each not in around_there if _block(rows, each) == "with"}
    for kind, what in (
        ("with", "block, whose exit would be left out"),
        ("except", "block, whose exception would stay the one that is handled"),
    ):
        if kind in left:
            return (
                f"line {line} is out of {_named(kind)} {what}: jump to a line within that block, "
                "its last for one, and step out of it (line)"
            )
    return ""


def _named(kind: str) -> str:
    return f"an `{kind}`" if kind == "except" else f"a `{kind}`"


def _common(here: _Stack, there: _Stack) -> int:
    """How many values, from the bottom, are the same."""
    same = 0
    for one, other in zip(here, there, strict=False):
        if one != other:
            break
        same += 1
    return same


def _handlers(covering: Sequence[Covering], at: int) -> Iterator[int]:
    """The handlers that are open at an instruction, the innermost first."""
    seen = set[int]()
    entry = covering[at]
    while entry is not None and entry[0] not in seen:
        seen.add(entry[0])
        yield entry[0]
        entry = covering[entry[0]]


def _block(rows: Sequence[Instruction], handler: int) -> str:
    """What kind of block a handler is of."""
    names = [each.opname for each in rows[handler : handler + 2]]
    if names[:1] != ["PUSH_EXC_INFO"]:
        return "except"  # what ends a handler that has raised
    return "with" if names[1:] == ["WITH_EXCEPT_START"] else "try"


def _kind(rows: Sequence[Instruction], made: int) -> str:
    """What a value on the stack is there for."""
    if made < 0:
        return "except"
    match rows[made].opname:
        case "PUSH_EXC_INFO":
            return "except"
        case "BEFORE_WITH" | "BEFORE_ASYNC_WITH" | "LOAD_SPECIAL":
            return "with"
        case "GET_ITER" | "GET_YIELD_FROM_ITER":
            return "for"
    return "value"


def _stacks(rows: Sequence[Instruction], covering: Sequence[Covering]) -> list[_Stack | None]:
    """What lies on the stack before each instruction; None: nothing leads there."""
    found: list[_Stack | None] = [None] * len(rows)
    waiting: list[tuple[int, _Stack]] = [(0, ())]
    while waiting:
        at, stack = waiting.pop()
        if not 0 <= at < len(rows) or found[at] is not None:
            continue
        found[at] = stack
        entry = covering[at]
        if entry is not None:
            target, kept, lasti = entry
            waiting.append((target, stack[:kept] + (-1 - target,) * (1 + lasti)))
        waiting += [(to, _after(rows[at], stack, jump)) for to, jump in _next(rows[at])]
    return found


def _next(row: Instruction) -> Iterator[tuple[int, bool]]:
    """The instructions that may follow one, and whether by a jump; the next in line last."""
    if row.target is not None:
        yield row.target, True
    if not row.opname.startswith(_ENDS) or row.opname == "RETURN_GENERATOR":
        yield row.index + 1, False


def _after(row: Instruction, stack: _Stack, jump: bool) -> _Stack:
    """The stack after an instruction."""
    name = row.opname
    code = dis.opmap.get(name)
    if code is None:
        return stack
    if name == "SWAP" and row.arg:
        values = list(stack)
        values[-1], values[-row.arg] = values[-row.arg], values[-1]
        return tuple(values)
    argument = (row.arg or 0) if code >= dis.HAVE_ARGUMENT else None
    effect = dis.stack_effect(code, argument, jump=jump)
    if name == "RETURN_GENERATOR":
        return (*stack, row.index)  # what is sent first
    if name.startswith(_TOUCHES_NONE):
        return stack + (row.index,) * effect if effect >= 0 else stack[:effect]
    made = effect + 1 if name in _MAKES_SEVERAL else 1
    return stack[: len(stack) + effect - made] + (row.index,) * made


def _unset(
    rows: Sequence[Instruction],
    covering: Sequence[Covering],
    start: int,
    bound: Collection[str],
) -> str:
    """A variable without a value that may be read from an instruction on; empty: there is none."""
    missing = {
        name
        for row in rows
        if row.opname != "LOAD_FAST_AND_CLEAR"
        for verb, name in row.local_uses
        if verb == "LOAD"
    } - set(bound)
    return next((name for name in sorted(missing) if _reads(rows, covering, start, name)), "")


def _reads(
    rows: Sequence[Instruction], covering: Sequence[Covering], start: int, name: str
) -> bool:
    """Whether a variable may be read before it is set."""
    seen, waiting = set[int](), [start]
    while waiting:
        at = waiting.pop()
        if at in seen or at >= len(rows):
            continue
        seen.add(at)
        row = rows[at]
        if (entry := covering[at]) is not None:
            waiting.append(entry[0])
        verb = next((verb for verb, used in row.local_uses if used == name), None)
        # What may be unset in the program itself is looked at when it is read.
        if verb == "LOAD" and row.opname not in ("LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR"):
            return True
        if verb is not None and row.opname != "LOAD_FAST_CHECK":
            continue
        waiting += [to for to, _ in _next(row)]
    return False
