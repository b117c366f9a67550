"""Coroutines and generators of watched code that were made and have not ended: for `Tracing`.

On Python 3.11 a thread is traced only while watched code runs in it, and a coroutine runs some time
after it was made, when the caller awaits it; nobody says so. So the thread is traced until then. A
coroutine that is never awaited ends without running an instruction, so no event tells of it. But it
dies, and a weak reference tells that.

We hear of it before it is there: the compiler is *about to* run its code. It is what the caller
finds on its stack when the call is over, so the caller's next instruction is waited for. Where
something else made the call (`map`, say), those who refer to the code are asked.
"""

from __future__ import annotations

import gc
import types
import weakref
from _thread import get_ident
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FrameType
from typing import Any

from stepper._C import value_stack

_COROUTINE = 0x20 | 0x80 | 0x200
"""Flags of code whose call makes a generator, a coroutine or an asynchronous generator."""
_PREFIXES: dict[type, str] = {
    types.CoroutineType: "cr",
    types.GeneratorType: "gi",
    types.AsyncGeneratorType: "ag",
}
"""What the attributes of each kind begin with."""


def makes_coroutine(code: CodeType) -> bool:
    """Whether a call of the code only makes an object that runs it later."""
    return bool(code.co_flags & _COROUTINE)


class _Made:
    """A coroutine or generator that was made, or is about to be."""

    __slots__ = ("coroutine", "thread")

    def __init__(self) -> None:
        self.thread = get_ident()
        self.coroutine: weakref.ref[Any] | None = None
        """None: it was not found."""


class MadeCoroutines:
    """The coroutines and generators that traced frames of any thread have made."""

    def __init__(
        self, hide: Callable[[CodeType], object], none_left: Callable[[int], None]
    ) -> None:
        """
        Args:
            hide: called with the code of each callback: see `instruction_events`.
            none_left: told of each thread whose last one has died.
        """
        self._hide = hide
        self._none_left = none_left
        self._waiting: dict[int, list[_Made]] = {}
        hide(MadeCoroutines._died.__code__)

    def waits(self, thread: int) -> bool:
        """Whether one was made in a thread that has not ended."""
        return thread in self._waiting

    def expect(self, code: CodeType, caller: FrameType) -> None:
        """A call in this thread, which is traced, is about to make one."""
        made = _Made()
        self._waiting.setdefault(made.thread, []).append(made)
        before = caller.f_trace
        lines, opcodes = caller.f_trace_lines, caller.f_trace_opcodes

        def next_event(frame: FrameType, event: str, argument: Any) -> Any:
            frame.f_trace = before
            frame.f_trace_lines, frame.f_trace_opcodes = lines, opcodes
            self._find(made, code, frame)
            return None if before is None else before(frame, event, argument)

        self._hide(next_event.__code__)
        caller.f_trace = next_event
        caller.f_trace_lines, caller.f_trace_opcodes = False, True

    def ended(self, frame: FrameType) -> None:
        """The frame of one has returned, and does not go on later."""
        for all_made in list(self._waiting.values()):
            for made in all_made:
                if _frame_of(made) is frame:
                    self._remove(made)
                    return

    def _find(self, made: _Made, code: CodeType, caller: FrameType) -> None:
        others = [_object_of(other) for other in self._waiting[made.thread]]
        for found in _candidates(code, caller):
            if not any(found is other for other in others):
                made.coroutine = weakref.ref(found, partial(self._died, made))
                return

    def _died(self, made: _Made, reference: object) -> None:
        if self._remove(made) and not self.waits(made.thread):
            self._none_left(made.thread)

    def _remove(self, made: _Made) -> bool:
        """False: it had been removed."""
        waiting = self._waiting.get(made.thread, [])
        if made not in waiting:
            return False
        waiting.remove(made)
        if not waiting:
            del self._waiting[made.thread]
        return True


def _candidates(code: CodeType, caller: FrameType) -> Iterator[Any]:
    """What runs a code later, first of all what the caller has just been given."""

    def fits(value: object) -> bool:
        prefix = _prefix(value)
        return prefix is not None and getattr(value, f"{prefix}_code") is code

    yield from filter(fits, (value_stack(caller) or [])[-1:])
    yield from filter(fits, gc.get_referrers(code))


def _prefix(value: object) -> str | None:
    # To look a type up could ask its metaclass, which may be the program's.
    return next((prefix for kind, prefix in _PREFIXES.items() if type(value) is kind), None)


def _object_of(made: _Made) -> Any:
    return None if made.coroutine is None else made.coroutine()


def _frame_of(made: _Made) -> FrameType | None:
    found = _object_of(made)
    return None if found is None else getattr(found, f"{_prefix(found)}_frame")
