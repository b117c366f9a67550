"""The value-stack reader: what it says is what is there, and it never says more than it knows."""

from __future__ import annotations

import asyncio
import dis
import functools
import gc
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stepper import _C
from stepper.support.stack_depths import stack_depth
from tests.csrc.programs import NAMES, PROGRAMS

HAS_MONITORING = sys.version_info >= (3, 12)
ENDS_ARE_KNOWN = sys.version_info >= (3, 14)
"""Before anything is called, the interpreter notes where the frame's stack ends."""
needs_monitoring = pytest.mark.skipif(not HAS_MONITORING, reason="sys.monitoring came with 3.12")
TOOL = 3

Event = Callable[[types.FrameType, int], None]


@contextmanager
def every_instruction(function: Callable[..., Any], event: Event) -> Iterator[None]:
    """Calls `event(frame, offset)` before each instruction of the function and its inner ones."""
    codes = inner_codes(function.__code__)
    if HAS_MONITORING:
        monitoring: Any = vars(sys)["monitoring"]
        events = monitoring.events

        def callback(code: types.CodeType, offset: int) -> None:
            event(sys._getframe(1), offset)

        monitoring.use_tool_id(TOOL, "tests")
        monitoring.register_callback(
            TOOL, events.INSTRUCTION, _C.AtInstruction(callback, stack_depth)
        )
        for code in codes:
            monitoring.set_local_events(TOOL, code, events.INSTRUCTION)
        try:
            yield
        finally:
            for code in codes:
                monitoring.set_local_events(TOOL, code, events.NO_EVENTS)
            monitoring.register_callback(TOOL, events.INSTRUCTION, None)
            monitoring.free_tool_id(TOOL)
    else:

        def trace(frame: types.FrameType, what: str, argument: object) -> Any:
            if frame.f_code not in codes:
                return None
            frame.f_trace_opcodes = True
            if what == "opcode":
                event(frame, frame.f_lasti)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(before)


def inner_codes(code: types.CodeType) -> set[types.CodeType]:
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return {code}.union(*map(inner_codes, inner))


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=NAMES)
def test_every_instruction_of_a_program_has_its_stack(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    expected = function(*arguments)
    lengths = []

    def event(frame: types.FrameType, offset: int) -> None:
        stack = _C.value_stack(frame)
        assert stack is not None
        assert len(stack) == stack_depth(frame.f_code, offset)
        lengths.append(len(stack))

    with every_instruction(function, event):
        assert function(*arguments) == expected
    assert len(lengths) > 5
    assert max(lengths) > 1


def test_values_are_the_objects_themselves() -> None:
    first, second = object(), object()
    seen: dict[str, list[object]] = {}

    def pair(a: object, b: object) -> tuple[object, object]:
        return (a, b)

    def event(frame: types.FrameType, offset: int) -> None:
        name = dis.opname[frame.f_code.co_code[offset]]
        seen[name] = _C.value_stack(frame) or []

    with every_instruction(pair, event):
        pair(first, second)
    assert seen["BUILD_TUPLE"] == [first, second]
    assert seen["RETURN_VALUE"] == [(first, second)]


def test_an_empty_slot_is_null() -> None:
    stacks = []

    def call(function: Callable[[], int]) -> int:
        return function()

    with every_instruction(call, lambda frame, offset: stacks.append(_C.value_stack(frame))):
        call(lambda: 1)
    assert any(_C.NULL in stack for stack in stacks if stack)
    assert repr(_C.NULL) == "NULL"
    assert not _C.NULL


@needs_monitoring
@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=NAMES)
def test_the_depth_is_what_the_interpreter_notes_at_lines(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    monitoring: Any = vars(sys)["monitoring"]
    pairs = []

    def callback(code: types.CodeType, line: int) -> None:
        frame = sys._getframe(1)
        stack = _C.value_stack(frame)
        pairs.append((None if stack is None else len(stack), stack_depth(code, frame.f_lasti)))

    monitoring.use_tool_id(TOOL, "tests")
    monitoring.register_callback(TOOL, monitoring.events.LINE, callback)
    codes = inner_codes(function.__code__)
    for code in codes:
        monitoring.set_local_events(TOOL, code, monitoring.events.LINE)
    try:
        function(*arguments)
    finally:
        for code in codes:
            monitoring.set_local_events(TOOL, code, monitoring.events.NO_EVENTS)
        monitoring.register_callback(TOOL, monitoring.events.LINE, None)
        monitoring.free_tool_id(TOOL)
    assert pairs
    assert all(noted == depth for noted, depth in pairs)


@pytest.mark.evaluator_out
def test_a_caller_in_the_middle_of_a_call_is_known_or_not_but_never_wrong() -> None:
    stacks: list[Any] = []

    def inner() -> int:
        stacks.append(_C.value_stack(sys._getframe(1)))
        stacks.append(_C.value_stack(sys._getframe()))
        return 1

    def outer(kept: object) -> list[object]:
        return [kept, inner()]

    kept = object()
    outer(kept)
    # Called by the interpreter itself, it has noted where the stack ends: below the call.
    assert stacks[0] == [kept]
    if ENDS_ARE_KNOWN:
        frame = stacks[1][-1]  # the argument of the call under way
        assert isinstance(frame, types.FrameType)
        assert frame.f_code is inner.__code__
    else:
        assert stacks[1] is None

    stacks.clear()

    def through_c(kept: object) -> list[object]:
        return [kept, functools.partial(inner)()]

    through_c(kept)
    if ENDS_ARE_KNOWN:
        assert stacks[0][0] is kept
    else:
        assert stacks == [None, None]


def test_a_destructor_sees_nothing_of_a_frame_that_is_unwinding() -> None:
    stacks = []

    class Dies:
        def __del__(self) -> None:
            stacks.append(_C.value_stack(sys._getframe(1)))

    def pops() -> None:
        Dies()

    def unwinds() -> None:
        [Dies(), *[Dies()], 1 // 0]

    pops()
    with pytest.raises(ZeroDivisionError):
        unwinds()
    gc.collect()
    assert len(stacks) == 3
    assert all(stack is None or stack == [] for stack in stacks)


def test_suspended_generators_and_coroutines() -> None:
    def generate() -> Any:
        for number in (1, 2):
            yield number * 1

    generator = generate()
    assert _C.value_stack(generator.gi_frame) == []
    next(generator)
    stack = _C.value_stack(generator.gi_frame)
    assert stack is not None
    assert [type(value).__name__ for value in stack] == ["tuple_iterator"]
    frame = generator.gi_frame
    assert list(generator) == [2]
    assert _C.value_stack(frame) == []
    assert _C.frame_locals(frame) == {"number": 2}

    async def wait() -> None:
        await asyncio.sleep(0)

    coroutine: Any = wait()
    assert coroutine.send(None) is None
    assert len(_C.value_stack(coroutine.cr_frame) or []) == 1
    coroutine.close()


def test_frames_that_have_returned_and_frames_that_were_cleared() -> None:
    def keep(argument: object) -> types.FrameType:
        return sys._getframe()

    frame = keep(1)
    assert _C.value_stack(frame) == []
    assert _C.frame_locals(frame) == {"argument": 1}
    frame.clear()
    assert _C.value_stack(frame) == []
    assert _C.frame_locals(frame) == {}


def test_locals_are_read_without_making_the_frame_keep_them() -> None:
    class Thing:
        pass

    locals_seen: list[dict[str, object]] = []

    def function(argument: object, *rest: int, **named: int) -> weakref.ref[Any]:
        in_cell = argument
        thing = free()
        locals_seen.append(_C.frame_locals(sys._getframe()))
        reference = weakref.ref(thing)
        del thing
        locals_seen[0].pop("thing")

        def use() -> tuple[object, object]:
            return in_cell, free

        return reference

    free = Thing
    # f_locals of 3.11 and 3.12 would have left a copy in the frame.
    assert function("text", 1, 2, three=3)() is None
    assert locals_seen == [
        {
            "argument": "text",
            "rest": (1, 2),
            "named": {"three": 3},
            "in_cell": "text",
            "free": Thing,
            "locals_seen": locals_seen,
        }
    ]


def test_code_that_does_not_fit_together_has_no_depth() -> None:
    def function(a: int) -> int:
        return a + 1

    code = function.__code__
    assert stack_depth(code, 0) == 0
    assert stack_depth(code, 1) is None
    assert stack_depth(code, 10_000) is None
    assert stack_depth(code, -2) is None
    pop = bytes([dis.opmap["POP_TOP"], 0])
    broken = code.replace(co_code=pop + code.co_code)
    assert [stack_depth(broken, offset) for offset in range(0, len(broken.co_code), 2)] == [
        None
    ] * (len(broken.co_code) // 2)
    shallow = code.replace(co_stacksize=1)
    assert stack_depth(shallow, 0) is None
    cut = code.replace(co_exceptiontable=b"\xc1")
    assert stack_depth(cut, 0) is None


def test_at_instruction_passes_everything_on() -> None:
    received = []

    def callback(*arguments: object, **named: object) -> str:
        received.append((arguments, named))
        return "result"

    assert _C.AtInstruction(callback, stack_depth)(1, "two", three=3) == "result"
    assert received == [((1, "two"), {"three": 3})]
    with pytest.raises(ZeroDivisionError):
        _C.AtInstruction(lambda: 1 // 0, stack_depth)()
    with pytest.raises(TypeError, match="something to call"):
        _C.AtInstruction(1, stack_depth)  # type: ignore[arg-type]  # refused


@pytest.mark.parametrize("read", [_C.value_stack, _C.frame_locals])
def test_what_is_no_frame_is_refused(read: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="wants a frame"):
        read(1)


@needs_monitoring
def test_a_callback_that_nobody_wrapped_learns_no_stack() -> None:
    """Its caller may be anywhere, so nothing is read rather than a slot too many."""
    monitoring: Any = vars(sys)["monitoring"]
    stacks = []

    def function(a: int) -> int:
        return a + 1

    def callback(code: types.CodeType, offset: int) -> None:
        stacks.append(_C.value_stack(sys._getframe(1)))

    monitoring.use_tool_id(TOOL, "tests")
    monitoring.register_callback(TOOL, monitoring.events.INSTRUCTION, callback)
    monitoring.set_local_events(TOOL, function.__code__, monitoring.events.INSTRUCTION)
    try:
        function(1)
    finally:
        monitoring.set_local_events(TOOL, function.__code__, monitoring.events.NO_EVENTS)
        monitoring.register_callback(TOOL, monitoring.events.INSTRUCTION, None)
        monitoring.free_tool_id(TOOL)
    if ENDS_ARE_KNOWN:
        assert stacks[-1] == [2]  # at the return
    else:
        assert set(stacks) == {None}


def test_a_callee_is_exchanged_right_before_its_call() -> None:
    class Gone:
        pass

    def call(function: Callable[[int], object], argument: int) -> object:
        return function(argument)

    def made_for(value: object) -> Callable[[int], object]:
        return lambda argument: (value, argument)

    exchanged = []

    def event(frame: types.FrameType, offset: int) -> None:
        if dis.opname[frame.f_code.co_code[offset]] == "CALL" and frame.f_code is call.__code__:
            stack = _C.value_stack(frame) or []
            at = next(at for at, value in enumerate(stack) if type(value) is types.FunctionType)
            exchanged.append(_C.put_on_stack(frame, at, lambda argument: argument + 1))

    gone = Gone()
    ended = weakref.ref(gone)
    function = made_for(gone)
    with every_instruction(call, event):
        assert call(function, 4) == 5
    assert exchanged == [function]
    exchanged.clear()
    del gone, function
    assert ended() is None  # no reference was lost or won


def test_nothing_is_put_where_no_value_is_known_to_be() -> None:
    def stand() -> types.FrameType:
        return sys._getframe()

    frame = stand()  # it has returned
    for index in (-1, 0, 1):
        with pytest.raises(ValueError, match="no value is known"):
            _C.put_on_stack(frame, index, None)
    with pytest.raises(TypeError):
        _C.put_on_stack(None, 0, None)  # type: ignore[arg-type]  # refused
