"""What a program decides by: read from its instructions, around the one that breaks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from stepper.model.program import Code, Instruction

JUMPS = ("POP_JUMP_", "JUMP_IF_")
"""How the names of jumps begin that are taken by a condition."""
_SIZES = ("numel", "shape", "size")
"""What a tensor has that says its size."""
_LEAVING = ("RETURN_", "RAISE_", "RERAISE")
_LEAVING_ALONE = ("TO_BOOL", "UNARY_NOT", "LOAD_ATTR", "NOP", "CACHE")
_OF_TWO = ("COMPARE_OP", "IS_OP", "CONTAINS_OP", "BINARY_SUBSCR")


def raises_either_way(instructions: Sequence[Instruction], at: int) -> bool:
    """Whether one of the two sides of a jump does nothing but raise."""
    target = instructions[at].target
    return _raises(instructions[at + 1 :]) or (
        target is not None and target > at and _raises(instructions[target:])
    )


def _raises(instructions: Sequence[Instruction]) -> bool:
    for row in instructions:
        if row.opname == "RAISE_VARARGS":
            return True
        if "JUMP" in row.opname or row.opname.startswith(("RETURN", "STORE", "FOR_ITER", "YIELD")):
            return False
    return False


def decided_at(way: Iterable[tuple[Code, int]]) -> tuple[Code, int] | None:
    """The jump by which the program decides by what an instruction leaves, in its function or,
    where that returns it, in the one that calls; None: it does not, or it only raises then.

    `way`: the function and the index of the instruction, then those that call it."""
    for code, at in way:
        rows = code.instructions
        if decides(rows, at):  # it asks itself, or calls what says whether an object is true
            return code, at
        found = _used(rows, at + 1)
        if not is_returned(code, at):
            return (code, found) if found is not None and decides(rows, found) else None
    return None


def checked(way: Iterable[tuple[Code, int]]) -> bool:
    """Whether the program only raises, or goes on, by what an instruction leaves, in its function
    or, where that returns it, in the one that calls. `way`: as of `decided_at`."""
    for code, at in way:
        rows, found = code.instructions, _used(code.instructions, at + 1)
        if not is_returned(code, at):
            jumps = found is not None and rows[found].opname.startswith(JUMPS)
            return found is not None and jumps and raises_either_way(rows, found)
    return False


def decides_from(rows: Sequence[Instruction], at: int) -> bool:
    """Whether a function decides by what an instruction of it leaves."""
    found = _used(rows, at + 1)
    return found is not None and decides(rows, found)


def decides_by_size(rows: Sequence[Instruction], at: int) -> bool:
    """Whether a function decides by the size of the tensor that an instruction leaves, or what is
    made of that in its line: it is kept as a local, and asked further on."""
    line = rows[at].line
    own = [*itertools.takewhile(lambda row: row.line in (line, None), rows[at:])]
    stored = [name for row in own for verb, name in row.local_uses if verb == "STORE"]
    for place in range(at + len(own), len(rows)) if stored else ():
        row = rows[place]
        if ("STORE", stored[-1]) in row.local_uses:
            return False
        if ("LOAD", stored[-1]) in row.local_uses:
            asked = rows[place + 1].argrepr
            found = place + 1 if asked.endswith("shape") else _call(rows, place)
            if asked.endswith(_SIZES) and found is not None and decides_from(rows, found):
                return True
    return False


def is_behind_a_jump(rows: Sequence[Instruction], at: int) -> bool:
    """Whether an instruction's line has decided before it, and does so no more behind it: it is in
    the block of a statement in one line."""
    jumps = [
        place
        for place, row in enumerate(rows)
        if row.line == rows[at].line and row.opname.startswith(JUMPS)
    ]
    return bool(jumps) and jumps[-1] < at


def decides_further_on(rows: Sequence[Instruction], at: int) -> bool:
    """Whether a function keeps what an instruction leaves as a local, and decides by that where it
    reads it first."""
    stored = next((row for row in rows[at + 1 :] if row.opname != "CACHE"), None)
    names = [] if stored is None else [name for verb, name in stored.local_uses if verb == "STORE"]
    for place in range(at + 2, len(rows)) if names else ():
        if ("LOAD", names[0]) in rows[place].local_uses:
            return decides_from(rows, place)
        if ("STORE", names[0]) in rows[place].local_uses and rows[place] is not stored:
            return False
    return False


def _call(rows: Sequence[Instruction], at: int) -> int | None:
    """The next call of the line of an instruction."""
    for place in range(at, len(rows)):
        if rows[place].line not in (rows[at].line, None):
            return None
        if rows[place].opname == "CALL":
            return place
    return None


def is_returned(code: Code, at: int) -> bool:
    """Whether a function returns what an instruction of it leaves."""
    found = _used(code.instructions, at + 1)
    return found is not None and code.instructions[found].opname.startswith("RETURN_")


def ends_a_loop(rows: Sequence[Instruction], at: int) -> bool:
    """Whether a jump decides if a loop goes on: one of its two sides comes back to it."""
    target = rows[at].target
    return target is not None and _comes_to(rows, target, at) != _comes_to(rows, at + 1, at)


def _comes_to(rows: Sequence[Instruction], start: int, end: int) -> bool:
    ahead, seen = [start], {start}
    while ahead:
        at = ahead.pop()
        if at == end:
            return True
        for after in _after(rows, at):
            if after not in seen:
                seen.add(after)
                ahead.append(after)
    return False


def _after(rows: Sequence[Instruction], at: int) -> Iterator[int]:
    """Where an instruction goes on."""
    row = rows[at]
    if row.target is not None:
        yield row.target
    always = row.opname.startswith("JUMP_") and not row.opname.startswith(JUMPS)
    if not always and not row.opname.startswith(_LEAVING) and at + 1 < len(rows):
        yield at + 1


def decides(rows: Sequence[Instruction], at: int) -> bool:
    """Whether an instruction is a jump by which the program goes on in one of two ways."""
    return rows[at].opname.startswith(JUMPS) and not raises_either_way(rows, at)


def _used(rows: Sequence[Instruction], at: int) -> int | None:
    """The jump or the return that has a value, an element of it, or what it is compared with, from
    an instruction on; None: something else is done with it."""
    above, kept = 0, ""
    while at < len(rows):
        row = rows[at]
        if row.opname in _OF_TWO or row.argrepr == "[]":  # as a BINARY_OP, since CPython 3.14
            above -= 1
        elif uses := row.local_uses:
            for verb, name in uses:
                if verb == "LOAD" and kept in ("", name):
                    above, kept = above + (not kept), ""
                elif verb == "STORE" and not (above or kept):
                    kept = name  # which the next line decides by
                else:
                    return None
        elif kept:
            return None
        elif row.opname.startswith("LOAD_") and row.opname not in _LEAVING_ALONE:
            above += 1
        elif row.opname.startswith((*JUMPS, "RETURN_")):
            return at if above == 0 else None
        elif row.opname not in _LEAVING_ALONE:
            return None
        at += 1
    return None


def loop_around(rows: Sequence[Instruction], at: int) -> str:
    """How the innermost loop around an instruction begins: `for`, `while`; empty: there is none."""
    backward = [
        (end - row.target, row.target)
        for end, row in enumerate(rows)
        if row.target is not None and row.target <= at <= end
    ]
    if not backward:
        return ""
    return "for" if rows[min(backward)[1]].opname == "FOR_ITER" else "while"
