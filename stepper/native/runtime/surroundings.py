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
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch._C._dynamo.guards import set_is_in_mode_without_ignore_compile_internals
from torch._subclasses import fake_tensor
from torch.fx import traceback as fx_traceback
from torch.fx.experimental import proxy_tensor
from torch.utils import _device, _python_dispatch

from stepper import _C
from stepper.native.library import is_library

_torch: Any = torch._C
"""Torch's stubs do not name all of it."""
Ask = Callable[[], object]
Put = Callable[[Any], object]


def _of_device(device: str) -> list[tuple[Ask, Put]]:
    return [
        (partial(torch.is_autocast_enabled, device), partial(torch.set_autocast_enabled, device)),
        (partial(torch.get_autocast_dtype, device), partial(torch.set_autocast_dtype, device)),
    ]


def _deterministic() -> tuple[bool, bool]:
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.are_deterministic_algorithms_enabled(), warns


def _set_deterministic(modes: tuple[bool, bool]) -> None:
    torch._C._set_deterministic_algorithms(modes[0], warn_only=modes[1])


def _set_inference_mode(on: bool) -> None:
    guard = _torch._InferenceMode(on)
    guard.__enter__()
    _kept.append(guard)


_SETTINGS: list[tuple[Ask, Put]] = [
    (torch.is_inference_mode_enabled, _set_inference_mode),  # it sets others, so it comes first
    (torch._C._only_lift_cpu_tensors, torch._C._set_only_lift_cpu_tensors),
    (_torch._get_torch_function_state, _torch._set_torch_function_state),
    (torch._C._is_fwd_grad_enabled, torch._C._set_fwd_grad_enabled),
    (torch.is_grad_enabled, torch._C._set_grad_enabled),
    (torch._C._is_multithreading_enabled, torch._C._set_multithreading_enabled),
    (torch._C._is_view_replay_enabled, torch._C._set_view_replay_enabled),
    (torch.get_default_dtype, torch._C._set_default_dtype),
    (torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    (_deterministic, _set_deterministic),
    *_of_device("cpu"),
    *_of_device("cuda"),
]
"""Settings of torch: how to ask, and how to set what was answered."""

_VARIABLES: list[tuple[object, str]] = [
    (_python_dispatch, "_is_in_torch_dispatch_mode"),
    (_python_dispatch, "_is_in_non_infra_torch_dispatch_mode"),
    (_python_dispatch, "_is_in_any_mode_without_ignore_compile_internals"),
    (_device, "CURRENT_DEVICE"),
    (proxy_tensor, "_CURRENT_MAKE_FX_TRACER"),
    (fake_tensor, "RECURSION_COUNT"),
    (fake_tensor.log, "disabled"),
    (fx_traceback, "current_meta"),
    (linecache, "cache"),
    (warnings, "filters"),
    (warnings, "showwarning"),
    (warnings, "_showwarnmsg_impl"),
]
"""Variables of modules, torch's and Python's own."""

_LOCALS: list[threading.local] = [
    torch._guards._TLS,
    fake_tensor.fake_tensor_tls,
    proxy_tensor._disable_update_tensor_tracker_tls,
]
"""What torch keeps for each thread."""

_kept: list[object] = []
"""Guards whose end would bring back what they have replaced."""


class _Stack(NamedTuple):
    """A stack of modes that torch keeps for each thread."""

    size: Callable[[], int]
    at: Callable[[int], object]
    pop: Callable[[], object]
    push: Callable[[Any], None]

    def all(self) -> list[object]:
        """What is on it, from the bottom up."""
        return [self.at(index) for index in range(self.size())]

    def put_back(self, modes: list[object]) -> None:
        """Have just these on it again."""
        there = self.all()
        if [*map(id, there)] != [*map(id, modes)]:
            for _ in there:
                self.pop()
            for mode in modes:
                self.push(mode)


_FUNCTION_MODES = _Stack(
    torch._C._len_torch_function_stack,
    torch._C._get_function_stack_at,
    torch._C._pop_torch_function_stack,
    torch._C._push_on_torch_function_stack,
)
_DISPATCH_MODES = _Stack(
    torch._C._len_torch_dispatch_stack,
    torch._C._get_dispatch_stack_at,
    partial(torch._C._pop_torch_dispatch_stack, None),
    torch._C._push_on_torch_dispatch_stack,
)


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
        self._dispatch_modes = _DISPATCH_MODES.all()
        self._function_modes = _FUNCTION_MODES.all()
        self._functorch = torch._C._functorch.get_dynamic_layer_stack_depth()
        self._settings = [ask() for ask, _ in _SETTINGS]
        self._variables = [getattr(owner, name) for owner, name in _VARIABLES]
        self._locals = [dict(vars(each)) for each in _LOCALS]
        self._keys = _torch._PreserveDispatchKeyGuard()
        self._keys.__enter__()

    def put_back(self) -> None:
        """Make it so again."""
        _let_go(sys.exception())
        _FUNCTION_MODES.put_back(self._function_modes)
        torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(self._functorch)
        self._keys.__exit__(None, None, None)
        _DISPATCH_MODES.put_back(self._dispatch_modes)
        for (owner, name), value in zip(_VARIABLES, self._variables, strict=True):
            if getattr(owner, name) is not value:
                setattr(owner, name, value)
        set_is_in_mode_without_ignore_compile_internals(
            _python_dispatch._is_in_any_mode_without_ignore_compile_internals
        )
        for (ask, put), value in zip(_SETTINGS, self._settings, strict=True):
            if ask() != value:
                put(value)
        for each, there in zip(_LOCALS, self._locals, strict=True):
            own = vars(each)
            if own != there:
                own.clear()
                own.update(there)
        random.setstate(self._random[0])
        torch.default_generator.set_state(self._random[1])
        _C.put_hook_back()
        if self._collects:
            gc.enable()
