"""State around a call: autocast, grad mode and inference mode, default device and dtype,
precision."""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#111569", "why-recompile",
    cause="grad_mode changes: False, True",
    advice="always the same grad mode (torch.no_grad, torch.enable_grad). Each thread has its own",
    counts=(2, 1),
)  # fmt: skip
def grad_mode_of_another_thread(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2

    def work(enabled: bool) -> None:
        with torch.set_grad_enabled(enabled):
            doubled(ones(2))

    work(False)
    thread = threading.Thread(target=work, args=(not run.remedied,))
    thread.start()
    thread.join()


@case(
    "", "why-recompile",
    cause="autocast(cpu) changes: off, bfloat16, float16",
    advice="always the same autocast",
    counts=(3, 1),
    never=("comes in different kinds",),
)  # fmt: skip
def autocast_of_two_types(run: Run) -> None:
    layer = nn.Linear(2, 2)

    @run.compile
    def projected(x: Any) -> Any:
        return layer(x)  # cause

    projected(ones(2, 2))
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype, enabled=not run.remedied):
            projected(ones(2, 2))


@case(
    "", "why-recompile",
    cause="allow_tf32 changes: False, True",
    advice="the same precision of matrix products (torch.set_float32_matmul_precision)",
    counts=(2, 1),
)  # fmt: skip
def precision_of_products(run: Run) -> None:
    @run.compile
    def squared_matrix(x: Any) -> Any:
        return x @ x

    squared_matrix(ones(2, 2))
    torch.set_float32_matmul_precision("highest" if run.remedied else "high")
    squared_matrix(ones(2, 2))
    torch.set_float32_matmul_precision("highest")


@case(
    "deeplink.framework#607", "why-recompile",
    cause=("function_modes changes: none, DeviceContext", "default_device changes: None, cpu"),
    advice="Set the default device once",
    counts=(2, 1),
)  # fmt: skip
def device_that_is_set_between(run: Run) -> None:
    @run.compile
    def with_zeros(x: Any) -> Any:
        return x + torch.zeros(3)

    with_zeros(ones(3))
    torch.set_default_device(None if run.remedied else "cpu")
    with_zeros(ones(3))
    torch.set_default_device(None)


@case(
    "", "why-recompile",
    cause="inference_mode changes: False, True",
    advice="Call it under one state: always the same inference mode",
    counts=(2, 1),
    never=("was made under torch.inference_mode", "of x changes"),
)  # fmt: skip
def evaluated_and_then_served(run: Run) -> None:
    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(ones(3))

        def forward(self, x: Any) -> Any:
            return x * self.weight  # cause

    compiled = run.compile(Weighted())
    x = ones(3)
    with torch.no_grad():
        compiled(x)
    with torch.no_grad() if run.remedied else torch.inference_mode():
        compiled(x)


@case(
    "", "why-recompile",
    cause=("grad_mode changes: True, False", "inference_mode changes: False, True"),
    advice="always the same grad mode",
    counts=(3, 1),
)  # fmt: skip
def trained_evaluated_and_served(run: Run) -> None:
    """Each of the three has its own entry, and each mode is a cause."""

    class Layered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.layer(x) * 2

    compiled = run.compile(Layered())
    x = ones(2, 3)
    compiled(x)
    with torch.set_grad_enabled(run.remedied):
        compiled(x)
    with torch.set_grad_enabled(True) if run.remedied else torch.inference_mode():
        compiled(x)


@case(
    "", "why-recompile",
    cause=("default_dtype changes: float32, float64", "dtype of noise changes: float32, float64"),
    advice="always the same default dtype",
    counts=(2, 1),
    never=("convert noise",),
)  # fmt: skip
def made_under_another_default(run: Run) -> None:
    """Converted alone, what is handed over does not meet the guard on the default."""

    @run.compile
    def noised(noise: Any) -> Any:
        return torch.zeros(3) + noise

    noised(ones(3))
    if not run.remedied:
        torch.set_default_dtype(torch.float64)
    try:
        noised(ones(3))
    finally:
        torch.set_default_dtype(torch.float32)


@case(
    "", "why-recompile",
    cause="autocast(cpu) changes: off, bfloat16  (1 of 1)",
    advice="Call it under one state: always the same autocast",
    counts=(2, 1),
    never=("dispatch keys of x changes",),
)  # fmt: skip
def layer_within_autocast(run: Run) -> None:
    """That its tensors have other dispatch keys then, follows from that."""
    layer = nn.Linear(4, 4)

    @run.compile
    def projected_down(x: Any) -> Any:
        return layer(x)  # cause

    projected_down(ones(2, 4))
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not run.remedied):
        projected_down(ones(2, 4))


@case(
    "", "why-recompile",
    cause=("inference tensor of x changes: False, True", "inference_mode changes: False, True"),
    advice="Call it under one state: always the same inference mode",
    counts=(2, 1),
    never=("x.clone()",),
)  # fmt: skip
def asked_and_served_with_its_own(run: Run) -> None:
    """The input is made where it is called, so a copy of it would have to be, too."""

    @run.compile
    def scores_of(x: Any, weight: Any) -> Any:
        return (x @ weight).softmax(-1)  # cause

    weight = ones(4, 4)
    with torch.no_grad():
        scores_of(ones(2, 4), weight)
    with torch.no_grad() if run.remedied else torch.inference_mode():
        scores_of(ones(2, 4), weight)


@case(
    "pytorch#112260", "is-guarded", expression="torch.get_autocast_dtype('cpu')",
    cause="torch.get_autocast_dtype('cpu') is guarded, with other global state",
    counts=(2, 1),
)  # fmt: skip
def type_of_autocast(run: Run) -> None:
    @run.compile
    def product(x: Any) -> Any:
        return x @ x

    for dtype in (torch.bfloat16, torch.bfloat16 if run.remedied else torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            product(ones(2, 2))


@case(
    "", "is-guarded", expression="torch.is_autocast_cache_enabled()",
    cause="torch.is_autocast_cache_enabled() is guarded, with other global state",
    counts=(2, 1),
)  # fmt: skip
def cache_of_autocast(run: Run) -> None:
    @run.compile
    def product(x: Any) -> Any:
        return x @ x

    for enabled in (True, run.remedied):
        with torch.autocast("cpu", cache_enabled=enabled):
            product(ones(2, 2))


@case(
    "", "is-guarded", expression="torch.get_default_device()",
    cause="torch.get_default_device() is guarded",
    counts=(2, 1),
)  # fmt: skip
def device_by_default(run: Run) -> None:
    @run.compile
    def shifted(x: Any) -> Any:
        return x + torch.zeros(2, device="cpu")

    shifted(ones(2))
    try:
        torch.set_default_device(None if run.remedied else "cpu")
        shifted(ones(2))
    finally:
        torch.set_default_device(None)


@case(
    "pytorch#166268", "is-guarded", expression="torch.is_autocast_enabled()",
    cause="torch.is_autocast_enabled() is guarded, with other global state",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def state_of_autocast(run: Run) -> None:
    @run.compile
    def product(x: Any) -> Any:
        return x @ x

    product(ones(2, 2))
    with torch.autocast("cpu", enabled=not run.remedied):
        product(ones(2, 2))
