"""Modes and settings under which a program runs."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.engines.native.replaced.running import (
    LOG,
    case,
    under,
)

LINEAR = torch.nn.Linear(3, 3)


class _FunctionMode(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        LOG.append("function")
        return func(*args, **(kwargs or {}))


class _DispatchMode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        LOG.append("dispatch")
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def _set(read: Any, write: Any, value: Any) -> Iterator[None]:
    old = read()
    write(value)
    try:
        yield
    finally:
        write(old)


def _reads_modes(x: torch.Tensor) -> Any:
    made = torch.ones(3)
    product = x.view(3, 1) @ made.view(1, 3)
    return (
        x * 2 + made,
        product,
        torch.is_grad_enabled(),
        torch.tensor(1.5),
        torch.zeros(2).dtype,
        torch.get_default_dtype(),
        torch.is_autocast_enabled(),
        torch.is_inference_mode_enabled(),
    )


under(
    "modes",
    [
        torch.no_grad,
        torch.enable_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", torch.bfloat16),
        lambda: torch.device("meta"),
        lambda: torch.device("cpu"),
        _FunctionMode,
        _DispatchMode,
        lambda: _set(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
        lambda: _set(
            torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True
        ),
        lambda: torch.random.fork_rng(),
        lambda: torch.autograd.set_multithreading_enabled(False),
        lambda: torch.autograd.detect_anomaly(check_nan=False),
        torch._C.DisableTorchFunction,
        torch._C.DisableTorchFunctionSubclass,
    ],
    _reads_modes,
)
under(
    "modes of a call that requires a gradient",
    [torch.no_grad, torch.inference_mode, torch.enable_grad, _DispatchMode],
    lambda x: LINEAR(x) * 2,
)
under(
    "settings that a program asks for",
    [
        lambda: _set(torch.get_num_threads, torch.set_num_threads, 3),
        lambda: _set(
            lambda: torch.backends.cudnn.enabled,
            lambda value: setattr(torch.backends.cudnn, "enabled", value),
            False,
        ),
        lambda: _set(
            lambda: torch.backends.mkldnn.enabled,
            lambda value: setattr(torch.backends.mkldnn, "enabled", value),
            False,
        ),
        lambda: _set(
            lambda: torch.backends.cuda.matmul.allow_tf32,
            lambda value: setattr(torch.backends.cuda.matmul, "allow_tf32", value),
            True,
        ),
        lambda: _set(
            torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "medium"
        ),
        lambda: _set(
            torch.is_deterministic_algorithms_warn_only_enabled,
            lambda value: torch.use_deterministic_algorithms(value, warn_only=value),
            True,
        ),
        lambda: _set(
            lambda: torch.backends.cudnn.benchmark,
            lambda value: setattr(torch.backends.cudnn, "benchmark", value),
            True,
        ),
        lambda: torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
    ],
    lambda x: (
        x + 1,
        torch.get_num_threads(),
        torch.backends.cudnn.enabled,
        torch.backends.mkldnn.enabled,
        torch.backends.cuda.matmul.allow_tf32,
        torch.get_float32_matmul_precision(),
        torch._C._get_cudnn_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.backends.cudnn.benchmark,
        torch.backends.cuda.math_sdp_enabled(),
        torch.backends.cuda.flash_sdp_enabled(),
    ),
)
under(
    "cudnn alone",
    [lambda: _set(torch._C._get_cudnn_enabled, torch._C._set_cudnn_enabled, False)],
    lambda x: (x + 1, torch._C._get_cudnn_enabled()),
)
under(
    "flush of denormals",
    [lambda: _set(lambda: False, torch.set_flush_denormal, True)],
    lambda x: x * 1e-38 * 1e-3,
)
under(
    "default device",
    [lambda: _set(lambda: None, torch.set_default_device, "meta")],
    lambda x: (torch.ones(2).device, torch.get_default_device(), x + 1),
)
under(
    "limits of numbers in text",
    [lambda: _set(sys.get_int_max_str_digits, sys.set_int_max_str_digits, 700)],
    lambda x: (x + 1, len(str(10**800))),
)
under(
    "recursion limit",
    [lambda: _set(sys.getrecursionlimit, sys.setrecursionlimit, 3000)],
    lambda x: (x + 1, sys.getrecursionlimit()),
)


@case
def grad_mode_set_by_the_program() -> Iterator[Any]:
    setting = [False]

    def program(x: torch.Tensor) -> Any:
        with torch.set_grad_enabled(setting[0]):
            return torch.is_grad_enabled(), x + 1

    yield program
    setting[0] = True
    yield


@case
def random_state() -> Iterator[Any]:
    def program(x: torch.Tensor) -> Any:
        random.seed(state[0])
        torch.manual_seed(state[0])
        return x + torch.rand(3), random.random(), torch.initial_seed()

    state = [1]
    yield program
    state[0] = 2
    yield


@case
def hooks_of_torch_function_modes_in_the_program() -> Iterator[Any]:
    mode = [contextlib.nullcontext()]

    def program(x: torch.Tensor) -> Any:
        with mode[0]:
            return x + 1

    yield program
    mode[0] = _FunctionMode()
    yield
    mode[0] = torch.no_grad()
    yield
