"""Tensors of another dtype than before, or of which one requires grad and another does not."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="requires_grad of self[0].bias changes: True, False",
    advice="Whether self[0].bias requires grad is a constant of the graph",
    counts=(2, 1),
    function="Sequential",
    never=("self._modules",),
)  # fmt: skip
def frozen_in_a_sequence(run: Run) -> None:
    layers = nn.Sequential(nn.Linear(3, 3), nn.Mish())
    compiled = run.compile(layers)
    compiled(ones(2, 3))
    if not run.remedied:
        layers[0].bias.requires_grad_(False)
    compiled(ones(2, 3))


@case(
    "pytorch#128134", "why-recompile",
    cause="dtype of target changes: float32, bfloat16",
    advice="convert target before the call",
    counts=(2, 1),
)  # fmt: skip
def layers_under_autocast(run: Run) -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, target: Any) -> Any:
            return self.linear(target)  # cause

    first, second = Layer(), Layer()
    first.compile(backend=run)
    second.compile(backend=run)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = first(ones(2, 4, dtype=torch.bfloat16 if run.remedied else torch.float32))
        second(x.detach())


@case(
    "", "why-recompile",
    cause=(
        "dtype of x changes: float32, float64", "x.shape[0] changes whenever dtype of x does",
    ),
    advice="A dtype is never a symbol: convert x before the call",
    counts=(2, 1),
)  # fmt: skip
def other_dtype_of_fewer_rows(run: Run) -> None:
    """To convert it alone is of no use."""

    @run.compile
    def halved_rows(x: Any) -> Any:
        return x / 2  # cause

    for size, dtype in ((4, torch.float32), (6, torch.float64), (8, torch.float64)):
        x = ones(size, 3, dtype=torch.float32 if run.remedied else dtype)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        halved_rows(x)


@case(
    "", "why-recompile",
    cause="dtype of self.kept changes: bool, float32",
    advice="that of a parameter or buffer has changed",
    counts=(2, 1),
)  # fmt: skip
def mask_kept_in_a_buffer(run: Run) -> None:
    class Kept(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("kept", ones(3, dtype=torch.bool))

        def forward(self, x: Any) -> Any:
            return x * self.kept  # cause

    model = Kept()
    compiled = run.compile(model)
    compiled(ones(3))
    if not run.remedied:
        model.kept = ones(3)
    compiled(ones(3))


class Rectified(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.linear(x).relu()


@case(
    "", "why-recompile",
    cause="requires_grad of x changes: False, True",
    advice="of which a detach() would cut the gradients",
    counts=(2, 1),
    never=("x.detach()",),
    function="Rectified.forward",
)  # fmt: skip
def blocks_by_themselves(run: Run) -> None:
    """The result of the block before requires grad, and what the first block is given does not."""
    model = nn.Sequential(*(Rectified() for _ in range(3)))
    for block in model:
        block.compile(backend=run)
    with torch.no_grad() if run.remedied else contextlib.nullcontext():
        model(ones(2, 4))


@case(
    "", "why-recompile",
    cause="requires_grad of weight changes: True, False",
    advice="Call with weight always requiring grad or never, or accept both entries",
    counts=(2, 1),
    never=("detach",),
)  # fmt: skip
def first_with_gradients(run: Run) -> None:
    """Whether the first call's was computed is not recorded."""

    @run.compile
    def weighed(x: Any, weight: Any) -> Any:
        return x * weight  # cause

    weighed(ones(2), ones(2, requires_grad=True))
    weighed(ones(2), ones(2, requires_grad=run.remedied))


@case(
    "", "why-recompile",
    cause="dtype of mask changes: bool, float32",
    advice="mask is bool in one call and a number in another",
    counts=(2, 1),
    never=("mask.to(",),
)  # fmt: skip
def masks_of_two_kinds(run: Run) -> None:
    """To a mask of numbers, which are added, 1 and 0 are not what True and False are."""

    @run.compile
    def attended(x: Any, mask: Any) -> Any:
        return nn.functional.scaled_dot_product_attention(x, x, x, mask)  # cause

    x = ones(1, 1, 4, 8)
    first = ones(4, 4, dtype=torch.bool)
    attended(x, torch.where(first, 0.0, -torch.inf) if run.remedied else first)
    attended(x, torch.zeros(4, 4))


@case(
    "", "why-recompile",
    cause="dtype of x changes: float8_e4m3fn, float32",
    advice="e.g. x.to(torch.float32)",
    counts=(2, 1),
)  # fmt: skip
def stored_in_eight_bits(run: Run) -> None:
    @run.compile
    def projected(x: Any) -> Any:
        return x.to(torch.float32) @ ones(4, 4)  # cause

    for dtype in (torch.float8_e4m3fn, torch.float32):
        x = ones(2, 4).to(dtype)
        projected(x.to(torch.float32) if run.remedied else x)


@case(
    "", "why-recompile",
    cause="dtype of positions changes: int64, float32",
    advice="e.g. positions.to(torch.float32)",
    counts=(2, 1),
)  # fmt: skip
def positions_that_are_scaled(run: Run) -> None:
    """As an int, half a position would be none."""

    @run.compile
    def turned(positions: Any) -> Any:
        return positions * 0.1  # cause

    for positions in (torch.arange(4), torch.arange(4) / 2):
        turned(positions.to(torch.float32) if run.remedied else positions)


@case(
    "", "why-recompile",
    cause="requires_grad of self.layers[1].bias changes: False, True",
    advice="Likewise of self.layers[0].bias",
    counts=(3, 1),
)  # fmt: skip
def unfrozen_one_after_another(run: Run) -> None:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x

    model = Stack().requires_grad_(run.remedied)
    trained = run.compile(model)
    trained(ones(1, 2))
    for layer in reversed(model.layers):
        layer.requires_grad_(True)
        trained(ones(1, 2))


@case(
    "", "why-break",
    cause="Unsupported Tensor.requires_grad_() call",
    advice="call requires_grad_ before the compiled function",
    counts=(2, 1),
)  # fmt: skip
def gradients_turned_on_for_an_input(run: Run) -> None:
    @run.compile
    def leaf(x: Any) -> Any:
        y = x * 2
        if not run.remedied:
            x.requires_grad_()  # cause
        return y + x

    leaf(ones(4, requires_grad=run.remedied))
