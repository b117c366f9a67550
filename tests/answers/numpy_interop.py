"""Arrays, numbers and functions of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@case(
    "", "why-recompile",
    cause="values[1] changes: 3.0, 4.0, 5.0",
    advice="for numpy.mean needs its value",
    counts=(3, 1),
    never=("numpy_to_tensor_wrapper",),
)  # fmt: skip
def mean_of_numpy_over_floats(run: Run) -> None:
    @run.compile
    def centered(x: Any, values: Any) -> Any:
        return x - (values.mean() if run.remedied else np.mean(values))  # cause

    for last in (3.0, 4.0, 5.0):
        centered(ones(2), torch.tensor([1.0, last]) if run.remedied else [1.0, last])


@case(
    "", "why-recompile",
    cause="type of values changes: a value of numpy, list",
    advice="Pass values always as the same type",
    counts=(2, 1),
    never=("a tensor type",),
)  # fmt: skip
def array_or_list(run: Run) -> None:
    @run.compile
    def scaled_by_first(x: Any, values: Any) -> Any:
        return x * values[0]  # cause

    scaled_by_first(ones(2), np.ones(2))
    scaled_by_first(ones(2), np.ones(2) if run.remedied else [1.0, 1.0])


@case(
    "", "why-recompile",
    cause="dtype of temperature changes: float64, float32",
    advice="convert the numpy number temperature before the call, e.g. "
    "temperature.astype('float64')",
    counts=(2, 1),
    never=("the array",),
)  # fmt: skip
def temperature_of_numpy(run: Run) -> None:
    @run.compile
    def softened(x: Any, temperature: Any) -> Any:
        return x / temperature  # cause

    softened(ones(3), np.float64(0.7))
    softened(ones(3), np.float64(0.7) if run.remedied else np.float32(0.7))


BETAS = np.linspace(0.1, 0.9, 5)


@case(
    "", "why-break",
    cause="TypeError when making fake tensor call",
    advice="make the array a tensor before the compiled function (torch.from_numpy)",
    counts=(2, 2),
)  # fmt: skip
def noise_of_a_step(run: Run) -> None:
    betas: Any = torch.from_numpy(BETAS) if run.remedied else BETAS

    @run.compile
    def noised(x: Any, step: Any) -> Any:
        return x * betas[step]  # cause

    for step in (2, 3):
        noised(ones(2), step)


@torch.library.custom_op("tests_answers::interpolated", mutates_args=())
def interpolated(x: Tensor) -> Tensor:
    return torch.from_numpy(np.interp(x.numpy(), [0, 1], [0, 2]))


@interpolated.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


@case(
    "", "why-break",
    cause="Can't find numpy numpy function",
    advice="where there is one; or wrap the call as a custom operator",
    counts=(2, 1),
)  # fmt: skip
def interpolated_by_numpy(run: Run) -> None:
    """Torch has no function of that purpose."""

    @run.compile
    def warped(x: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            return interpolated(doubled) + x
        return torch.from_numpy(np.interp(doubled.numpy(), [0, 1], [0, 2])) + x  # cause

    warped(ones(3, dtype=torch.float64))


@case(
    "", "why-break",
    cause="Unsupported ndarray method call",
    advice="take it from the array outside of the compiled function",
    counts=(2, 1),
    never=(" at 0x",),
)  # fmt: skip
def bytes_of_numpy(run: Run) -> None:
    @run.compile
    def measured(x: Any) -> Any:
        x = x + 1
        size = 12 if run.remedied else len(x.numpy().tobytes())  # cause
        return x * size

    measured(ones(3))


@case(
    "", "why-break",
    cause=("Tensor.numpy() with trace_numpy=False", "call `torch.from_numpy` with"),
    advice="trace_numpy = True",
    counts=(2, 1),
)  # fmt: skip
def numpy_turned_off(run: Run) -> None:
    torch._dynamo.config.trace_numpy = run.remedied

    @run.compile
    def rounded(x: Any) -> Any:
        y = (x * 2).numpy()  # cause
        return x + torch.from_numpy(y)

    rounded(ones(4))


@case(
    "", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
    never=("draw it",),
)  # fmt: skip
def norm_of_numpy(run: Run) -> None:
    @run.compile
    def scaled(x: Any) -> Any:
        x = x * 2
        return x / float(np.linalg.norm(x))  # cause

    with config.patch(capture_scalar_outputs=run.remedied):
        scaled(ones(4))


@case(
    "", "why-failed",
    cause="'ndarray' object has no attribute '__round__'",
    advice="take the function of math (math.floor for numpy.floor)",
    counts=(0, 1),
)  # fmt: skip
def rounded_after_numpy(run: Run) -> None:
    import math

    @run.compile
    def halved_and_rounded(x: Any, count: int) -> Any:
        floor = math.floor if run.remedied else np.floor
        return x * round(floor(count / 2))  # cause

    with run.failing():
        halved_and_rounded(ones(3), 5)
