"""Modes and settings under which a program runs."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

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


def _field(owner: Any, name: str, value: object) -> Any:
    return _set(
        functools.partial(getattr, owner, name), functools.partial(setattr, owner, name), value
    )


@contextlib.contextmanager
def _without_gradients_and(context: Callable[[], Any]) -> Iterator[None]:
    with torch.no_grad(), context():
        yield


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

_HELD = torch.tensor([1.0, 2.0, 3.0])
_PARAMETER = torch.nn.Parameter(torch.ones(3))


def _autocast_with(**given: Any) -> Any:
    def program(x: torch.Tensor) -> Any:
        with torch.autocast("cpu", **given):
            product = torch.ones(3, 3) @ torch.ones(3, 3)
        return product, product.dtype

    return program


@torch.no_grad()
def _decorated(x: torch.Tensor) -> Any:
    return _PARAMETER * x, torch.is_grad_enabled()


DEFAULTS: dict[str, Callable[[torch.Tensor], Any]] = {
    "autocast": _autocast_with(),
    "autocast without its cache": _autocast_with(cache_enabled=False),
    "autocast that is off": _autocast_with(enabled=False),
    "a decorated function": _decorated,
    "a factory": lambda x: (torch.ones(3), torch.ones(2).dtype, torch.full((2,), 1.5).device),
    "numbers": lambda x: (torch.tensor([1.0, 2.0]), torch.arange(0, 1, 0.5), torch.eye(2)),
    "a random number": lambda x: torch.rand(2).dtype,
    "a window": lambda x: torch.hann_window(4),
    "integers and a float": lambda x: (torch.arange(3) / 2, torch.arange(3) * 2.5),
    "a question for types": lambda x: (torch.result_type(torch.arange(2), 1.5), x + 1),
    "finfo": lambda x: (torch.finfo().bits, x + 1),
    "the type of autocast": lambda x: (torch.get_autocast_dtype("cpu"), x + 1),
    "the type of autocast elsewhere": lambda x: (torch.get_autocast_dtype("cuda"), x + 1),
    "the cache of autocast": lambda x: (torch.is_autocast_cache_enabled(), x + 1),
    "whether autocast is on": lambda x: (torch.is_autocast_enabled("cpu"), x + 1),
    "whether functions are overridden": lambda x: (torch._C._is_torch_function_enabled(), x + 1),
    "memory that is filled": lambda x: (torch.utils.deterministic.fill_uninitialized_memory, x + 1),
    "whether numbers are checked": lambda x: (torch.is_anomaly_enabled(), x + 1),
    "a tensor that is there": lambda x: (_HELD * 2, (_HELD * 2).is_inference()),
    "a parameter": lambda x: (_PARAMETER * 2, (_PARAMETER * 2).requires_grad),
    "a parameter that is made": lambda x: torch.nn.Parameter(torch.ones(3)),
    "a distribution": lambda x: (torch.distributions.Normal(x, x.abs())._validate_args, x + 1),
    "a contraction": lambda x: torch.einsum("i,ij,j->i", x, torch.eye(3), x),
    "the environment": lambda x: (os.environ.get("STEPPER_UNKNOWN"), x + 1),
}
"""What a program takes from torch without having said it."""
SETTINGS: list[Callable[[], Any]] = [
    torch.no_grad,
    torch.inference_mode,
    lambda: torch.autocast("cpu", torch.float16),
    lambda: torch.autocast("cpu", torch.bfloat16, cache_enabled=False),
    *(
        functools.partial(
            _set,
            functools.partial(torch.get_autocast_dtype, device),
            functools.partial(torch.set_autocast_dtype, device),
            dtype,
        )
        for device, dtype in (("cpu", torch.float16), ("cuda", torch.bfloat16))
    ),
    lambda: _set(torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled, False),
    lambda: _set(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
    lambda: _set(
        torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True
    ),
    lambda: _field(torch.utils.deterministic, "fill_uninitialized_memory", False),
    lambda: _field(torch.backends.opt_einsum, "enabled", False),
    lambda: _set(lambda: True, torch.distributions.Distribution.set_default_validate_args, False),
    lambda: mock.patch.dict(os.environ, STEPPER_UNKNOWN="1"),
    lambda: torch.device("meta"),
    lambda: torch.autograd.detect_anomaly(check_nan=False),
    lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    torch.autograd.forward_ad.dual_level,
    torch._C.DisableTorchFunctionSubclass,
]
"""What a program may have said before: each of these is entered between two calls."""
for _name, _program in DEFAULTS.items():
    under(f"{_name} by default", SETTINGS, _program)
    under(
        f"{_name} by default without gradients",
        [functools.partial(_without_gradients_and, each) for each in SETTINGS],
        _program,
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
