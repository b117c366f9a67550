"""What a capture shares with the program, and puts back whatever ends it.

A capture runs torch's operators under a fake mode, calls a backend, has warnings ignored and no
garbage collected. Each of these is set by a `with` block or beside a `try`, of ours or of torch's,
and an exception can come where neither helps: in the `__enter__` of a mode that has pushed itself,
in the `__exit__` of one that has not yet popped. So nobody relies on them. What there was when the
capture began is noted in one place, here, and made so again by `_C.call_and_undo`, which no
exception keeps from it.

`put_back` can be interrupted itself, and is called again then: it may do everything twice.
"""

from __future__ import annotations

import contextlib
import gc
import linecache
import random
import sys
import warnings
from collections.abc import Callable

import torch

from stepper import _C
from stepper.native import versions
from stepper.native.library import is_library

_VARIABLES: list[tuple[object, str]] = [
    *versions.VARIABLES,
    (linecache, "cache"),
    (warnings, "filters"),
    (warnings, "showwarning"),
    (warnings, "_showwarnmsg_impl"),
]
"""Variables of modules, torch's and Python's own."""


def _on(stack: versions.ModeStack) -> list[object]:
    """What is on it, from the bottom up."""
    return [stack.at(index) for index in range(stack.size())]


def _put_back(stack: versions.ModeStack, modes: list[object]) -> None:
    """Have just these on it again."""
    there = _on(stack)
    if [*map(id, there)] != [*map(id, modes)]:
        for _ in there:
            stack.pop()
        for mode in modes:
            stack.push(mode)


def _let_go(error: BaseException | None) -> None:
    """Have a traceback hold nothing that puts something back when it dies: a generator that was
    interrupted in its context manager's `__enter__` would do so late, when the program drops the
    exception. What frames of the program's own hold stays."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        traceback = error.__traceback__
        while traceback is not None:
            if is_library(traceback.tb_frame.f_code.co_filename):
                with contextlib.suppress(RuntimeError):  # it still runs
                    traceback.tb_frame.clear()
            traceback = traceback.tb_next
        error = error.__context__


class Surroundings:
    """All of that, as it is when this is made."""

    def __init__(self) -> None:
        self._collects = gc.isenabled()
        self._random = random.getstate(), torch.default_generator.get_state()
        self._dispatch_modes = _on(versions.DISPATCH_MODES)
        self._function_modes = _on(versions.FUNCTION_MODES)
        self._functorch = versions.transforms_depth()
        self._settings = [ask() for ask, _ in versions.SETTINGS]
        self._variables = [getattr(owner, name) for owner, name in _VARIABLES]
        self._locals = [dict(vars(each)) for each in versions.LOCALS]
        self._keys = versions.dispatch_keys()
        self._keys.__enter__()

    def let(self, prepare: Callable[[], object]) -> None:
        """Have something done in between that lasts, in the order in which the program draws."""
        random.setstate(self._random[0])
        torch.default_generator.set_state(self._random[1])
        prepare()
        self._random = random.getstate(), torch.default_generator.get_state()

    def put_back(self) -> None:
        """Make it so again."""
        _let_go(sys.exception())
        _put_back(versions.FUNCTION_MODES, self._function_modes)
        versions.end_transforms(self._functorch)
        self._keys.__exit__(None, None, None)
        _put_back(versions.DISPATCH_MODES, self._dispatch_modes)
        for (owner, name), value in zip(_VARIABLES, self._variables, strict=True):
            if getattr(owner, name) is not value:
                setattr(owner, name, value)
        versions.tell_c_of_dispatch_modes()
        for (ask, put), value in zip(versions.SETTINGS, self._settings, strict=True):
            if ask() != value:
                put(value)
        for each, there in zip(versions.LOCALS, self._locals, strict=True):
            own = vars(each)
            if own != there:
                own.clear()
                own.update(there)
        random.setstate(self._random[0])
        torch.default_generator.set_state(self._random[1])
        _C.put_hook_back()
        if self._collects:
            gc.enable()
