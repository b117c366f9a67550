"""How deep the value stack is before each instruction, found without running anything.

From 3.12 on a running frame does not say how far its stack goes, and whoever reads one slot too
many reads an address that was freed. So the depth is worked out here, from the bytecode itself, and
nobody's word is taken for it: start at the first instruction with an empty stack, add what each
instruction leaves or takes, follow jumps and the exception table. Two ways to the same instruction
must agree and no depth may pass `co_stacksize`, else nothing is claimed about the code at all: code
that a program assembled by hand may be anything.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CodeType

from stepper.support.per_object import PerCode

ENDS_A_PATH = frozenset(
    {
        "RETURN_VALUE",
        "RETURN_CONST",
        "RAISE_VARARGS",
        "RERAISE",
        "JUMP_FORWARD",
        "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT",
    }
)
"""Instructions behind which control does not go on."""
_JUMPS = {
    code: -1 if "BACKWARD" in dis.opname[code] else 1
    for code in dis.hasjrel
    if code < 256 and dis.opname[code] != "END_ASYNC_FOR"  # 3.14 says there where its loop begins
}
"""The direction of each jump."""
_ENDS = frozenset(dis.opmap[name] for name in ENDS_A_PATH if name in dis.opmap)
_EXTENDED, _CACHE = dis.opmap["EXTENDED_ARG"], dis.opmap["CACHE"]
_known: PerCode[dict[int, int]] = PerCode()


def stack_depth(code: CodeType, offset: int) -> int | None:
    """How deep the stack is before the instruction at this offset (in bytes, as in `dis`).

    None where control never comes, and everywhere in code whose jumps, exception table and
    `co_stacksize` contradict each other.
    """
    return stack_depths(code).get(offset)


def stack_depths(code: CodeType) -> dict[int, int]:
    """How deep the stack is before each instruction that control can come to, by its offset in
    bytes."""
    depths = _known.get(code)
    return _known.set(code, _depths(code)) if depths is None else depths


@functools.cache
def stack_effect(opcode: int, argument: int, jump: bool) -> int:
    """How many values an instruction leaves more than it takes.

    Raises:
        ValueError: there is no such instruction.
    """
    name = dis.opname[opcode]
    if name == "RETURN_GENERATOR":
        return 1  # what the first send() leaves for the POP_TOP behind; older versions say 0
    if "PRECALL" in dis.opmap and name in {"PRECALL", "CALL"}:
        # 3.11 books the arguments that CALL takes on the PRECALL before it.
        return 0 if name == "PRECALL" else -argument - 1
    takes_none = opcode < dis.HAVE_ARGUMENT
    return dis.stack_effect(opcode, None if takes_none else argument, jump=jump)


def _depths(code: CodeType) -> dict[int, int]:
    """By offset; empty: the code does not fit together."""
    try:
        return _walk(code)
    except ValueError:
        return {}


def _walk(code: CodeType) -> dict[int, int]:
    """In one function, since transformed code is walked through in the midst of a compile."""
    written, most = code.co_code, code.co_stacksize
    end = len(written)
    depths: dict[int, int] = {}
    waiting = [(0, 0), *_handlers(code.co_exceptiontable)]
    while waiting:
        offset, depth = waiting.pop()
        while offset not in depths:
            if not 0 <= offset < end or not 0 <= depth <= most:
                raise ValueError
            depths[offset] = depth
            opcode, argument = written[offset], written[offset + 1]
            offset += 2
            while opcode == _EXTENDED:
                if offset >= end or depths.setdefault(offset, depth) != depth or argument >> 23:
                    raise ValueError
                opcode, argument = written[offset], argument << 8 | written[offset + 1]
                offset += 2
            while offset < end and written[offset] == _CACHE:
                offset += 2
            if direction := _JUMPS.get(opcode):
                after = depth + stack_effect(opcode, argument, True)
                waiting.append((offset + 2 * direction * argument, after))
            if opcode in _ENDS:
                break
            depth += stack_effect(opcode, argument, False)
        else:
            if depths[offset] != depth:
                raise ValueError
    return depths


def _handlers(table: bytes) -> Iterator[tuple[int, int]]:
    """Where each handler of an exception table begins, and the depth there.

    Its numbers have six bits a byte, the highest first. Of each entry they are the start, the
    length, the target, and the depth with a bit: whether the place where it was raised is wanted.
    """
    numbers, value = list[int](), 0
    for byte in table:
        value = value << 6 | (byte & 63)
        if not byte & 64:
            numbers.append(value)
            value = 0
    if (table and table[-1] & 64) or len(numbers) % 4:
        raise ValueError
    for target, depth in zip(numbers[2::4], numbers[3::4], strict=True):
        # The exception itself, and before it the place.
        yield 2 * target, (depth >> 1) + 1 + (depth & 1)
