"""Calls to us at the entry of somebody else's function, without a frame of ours on the stack.

The idea. To watch a function is usually to wrap it. A wrapper stays on the stack while the function
runs: tracebacks, stack summaries and recursion depth change, and a compiler that records user
stacks (as Dynamo does for guards, nodes and graph breaks) would record us. So we do not wrap; we
put a few instructions in front of the function's own:

    RESUME              RESUME
    ...body...    →     hook(a, b)      # LOAD_CONST, LOAD_FAST…, CALL, POP_TOP
                        ...body...

The hook's frame is gone before the body begins. The body stays byte for byte what it was: from 3.11
on every jump is relative and none crosses the place after RESUME, so only the exception table moves
(by a constant) and the location table gets one entry more. The function object, its name, defaults,
closure and line numbers stay.

Dynamo keeps the code of its own functions in tracebacks, so what was put into one can be alive long
after it was taken out. A `stepper._C.Hook` is released then, and leads to nothing that was ours.

What it cannot do is see a function's result. That is enough: everything that we want to know of a
result is an argument of some later call.

Where a user may decide what becomes of a call, the probe also has an *answer*, asked behind the
hook: what it gives is returned in place of the body, unless it is None. Raising an exception
instead would take the way of a failed compilation, with its warnings and its counters.

    RESUME; hook(a, b); if (found := answer()) is not None: return found; ...body...

Alternatives. Rebuilding the code through an assembler (the `bytecode` package) would write the
whole function anew, and handler depths are known to go wrong in nested handlers; `sys.monitoring`
does not exist on 3.11 and is seen by other tools; replacing methods on the class adds the frames
that we do not want.
"""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, Literal

from stepper import _C
from stepper.engines.common.versions import CALL_SHAPE, NONE_JUMP

Hook = Callable[..., None]
Answer = Callable[[], object]


class ProbeError(RuntimeError):
    """A function is not as the probe needs it; the message names the function."""


_NO_COLUMNS = 13  # location entry: a line but no columns
_placed: dict[FunctionType, list[Probe]] = {}
"""The probes of each function that has some, the last in front."""


class Probe:
    """A hook in front of one function; `remove` restores what was there."""

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[str, ...],
        hook: Hook,
        answer: Answer | None = None,
    ) -> None:
        """Install at once.

        `function` is a Python function, or one decorated with `functools.wraps`; `arguments` are
        the names of those of its parameters that the hook gets. `answer` is asked behind the hook:
        what it gives is the function's result, and its body does not run; None: it runs.

        Raises:
            ProbeError: it is no Python function, lacks a parameter or has an unexpected prologue.
        """
        target = inspect.unwrap(function)
        if not isinstance(target, FunctionType):
            raise ProbeError(f"{function!r} is not a Python function")
        self._function = target
        self._hook = hook
        self._put: Callable[[CodeType], CodeType] = functools.partial(
            insert_call, hook=hook, arguments=arguments, answer=answer
        )
        self._found = target.__code__
        self._probed = self._put(self._found)
        before = _placed.get(target, [])
        # Over what somebody else has put there, it stands alone.
        known = bool(before) and before[-1]._probed is self._found
        _placed[target] = [*before, self] if known else [self]
        target.__code__ = self._probed

    def watches(self, function: Callable[..., Any]) -> bool:
        """Whether this is the probe of that function."""
        return inspect.unwrap(function) is self._function

    def remove(self) -> None:
        """Restore the function's code, unless somebody else has replaced it meanwhile. A call of
        the hook that is under way ends as it would have. Probes of one function can be removed in
        any order."""
        placed = _placed.get(self._function, [])
        if self in placed:
            ours = self._function.__code__ is placed[-1]._probed
            at, code = placed.index(self), self._found
            for above in placed[at + 1 :]:
                above._found, above._probed = code, above._put(code)
                code = above._probed
            if ours:
                self._function.__code__ = code
            placed.remove(self)
            if not placed:
                del _placed[self._function]
        elif self._function.__code__ is self._probed:  # somebody else was in front, and is gone
            self._function.__code__ = self._found
        if isinstance(self._hook, _C.Hook):
            self._hook.release()


def insert_call(
    code: CodeType, hook: Hook, arguments: tuple[str, ...], answer: Answer | None = None
) -> CodeType:
    """`code` with `hook(*arguments)` in front of its body, and behind it a return of what `answer`
    gives, unless that is None.

    Raises:
        ProbeError: an argument is no parameter of `code`, or the code does not begin as CPython's
        compiler lets it.
    """
    units = _prologue_units(code)
    consts = (*code.co_consts, hook) if answer is None else (*code.co_consts, hook, answer)
    prefix = _call_units(code, len(code.co_consts), arguments) + _emit("POP_TOP")
    if answer is not None:
        prefix += _call_units(code, len(code.co_consts) + 1, ()) + _return_units()
    split = 2 * units
    return code.replace(
        co_code=code.co_code[:split] + prefix + code.co_code[split:],
        co_consts=consts,
        co_stacksize=max(code.co_stacksize, 2 + len(arguments)),
        co_linetable=_insert_location(code.co_linetable, units, len(prefix) // 2, code),
        co_exceptiontable=bytes(
            _shift_exception_table(code.co_exceptiontable, units, len(prefix) // 2)
        ),
    )


def _prologue_units(code: CodeType) -> int:
    """How many code units stand up to and including RESUME."""
    # Not by `dis`, which looks for the labels of the whole function first: a forked child that is
    # watched places all probes again.
    for unit, opcode in enumerate(code.co_code[::2]):
        if dis.opname[opcode] == "RESUME":
            return unit + 1
        if dis.opname[opcode] not in ("MAKE_CELL", "COPY_FREE_VARS"):
            break
    raise ProbeError(f"{code.co_qualname}: no RESUME at its beginning (a generator?)")


def _emit(name: str, argument: int = 0) -> bytes:
    out = bytearray()
    opcode = dis.opmap[name]
    for shift in (24, 16, 8):
        if argument >> shift:
            out.extend((dis.opmap["EXTENDED_ARG"], argument >> shift & 0xFF))
    out.extend((opcode, argument & 0xFF))
    out.extend(b"\0\0" * _CACHES.get(name, 0))
    return bytes(out)


def _return_units() -> bytes:
    """Return the value on top of the stack, unless it is None."""
    jump, caches = NONE_JUMP
    over = _emit("RETURN_VALUE")
    test = _emit("COPY", 1) + _emit(jump, len(over) // 2) + b"\0\0" * caches
    return test + over + _emit("POP_TOP")


def _call_units(code: CodeType, constant: int, arguments: tuple[str, ...]) -> bytes:
    """Call a constant with some of the parameters; the result is on the stack."""
    null_first, precall = CALL_SHAPE
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    out = bytearray()

    def emit(name: str, argument: int = 0) -> None:
        out.extend(_emit(name, argument))

    if null_first:
        emit("PUSH_NULL")
    emit("LOAD_CONST", constant)
    if not null_first:
        emit("PUSH_NULL")
    for name in arguments:
        if name not in parameters:
            raise ProbeError(f"{code.co_qualname} has no parameter {name!r}")
        # A parameter that a closure captures shares its number with its variable.
        emit(
            "LOAD_DEREF" if name in code.co_cellvars else "LOAD_FAST", code.co_varnames.index(name)
        )
    if precall:
        emit("PRECALL", len(arguments))
    emit("CALL", len(arguments))
    return bytes(out)


def _cache_counts() -> dict[str, int]:
    """Inline cache entries behind the instructions that we emit, as this interpreter lays them
    out."""

    def probed() -> None:
        probed()

    counts = {"PRECALL": 0, "CALL": 0}
    current = ""
    for instruction in dis.get_instructions(probed, show_caches=True):
        if instruction.opname == "CACHE" and current in counts:
            counts[current] += 1
        elif (current := instruction.opname) in counts:
            # 3.13 lists caches in a field of their own.
            caches = getattr(instruction, "cache_info", None) or ()
            counts[current] = sum(size for _, size, _ in caches)
    return counts


_CACHES = _cache_counts()


def _insert_location(table: bytes, units: int, length: int, code: CodeType) -> bytes:
    """The location table with an entry for `length` units after the first `units`, at RESUME's
    line."""
    position = covered = 0
    while covered < units and position < len(table):
        covered += (table[position] & 7) + 1
        position += 1
        while position < len(table) and not table[position] & 0x80:
            position += 1
    if covered != units:
        raise ProbeError(f"{code.co_qualname}: RESUME shares its location with the body")
    entry = bytearray()
    while length > 0:
        count = min(length, 8)
        entry += bytes((0x80 | _NO_COLUMNS << 3 | count - 1, 0))  # line delta 0
        length -= count
    return table[:position] + bytes(entry) + table[position:]


def _shift_exception_table(table: bytes, after: int, by: int) -> Iterator[int]:
    """The exception table for code that was moved by `by` units from unit `after` on."""
    position = 0

    def read() -> int:
        nonlocal position
        value = table[position] & 63
        while table[position] & 64:
            position += 1
            value = value << 6 | table[position] & 63
        position += 1
        return value

    while position < len(table):
        start, size, target, depth_lasti = read(), read(), read(), read()
        if (
            start < after
        ):  # an entry that covers the prologue covers the call as well: it never raises
            size += by
        else:
            start += by
        yield from _varint(start, 128)
        yield from _varint(size)
        yield from _varint(target + by)
        yield from _varint(depth_lasti)


def _varint(value: int, marker: Literal[0, 128] = 0) -> Iterator[int]:
    """Six bits a byte, most significant first; bit 6: more follow; bit 7 of the first: a new
    entry."""
    groups = [value & 63]
    while value := value >> 6:
        groups.append(value & 63 | 64)
    groups.reverse()
    yield groups[0] | marker
    yield from groups[1:]
