"""Programs of a ninth sweep, of what a call hands over, of models made in a loop, of loaders and
derivatives, and reported ones of which the answer was right."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="keys of options changes: without 'mask', with 'mask'",
    advice="give it the same keyword arguments in each call",
    counts=(3, 1),
    never=("is changed by the compiled function itself",),
)  # fmt: skip
def options_that_are_popped(run: Run) -> None:
    @run.compile
    def attended(x: Any, **options: Any) -> Any:
        mask = options.pop("mask", None)  # cause
        scale = options.pop("scale", 1)
        return x * scale if mask is None else x * scale * mask

    every: dict[str, Any] = {"mask": ones(3), "scale": 2}
    attended(ones(3), **(every if run.remedied else {}))
    attended(ones(3), **(every if run.remedied else {"mask": ones(3)}))
    attended(ones(3), **(every if run.remedied else {"scale": 2}))


@case(
    "pytorch#167504", "why-recompile",
    cause="x.shape[1] grows: 2, 3, 4, 5",
    advice="torch._dynamo.config.force_nn_module_property_static_shapes = False, where neither "
    "dynamic=False is given",
    counts=(4, 2),
)  # fmt: skip
def models_made_in_a_loop(run: Run) -> None:
    class Wide(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.project = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            return self.project(x)  # cause

    torch._dynamo.config.force_parameter_static_shapes = not run.remedied
    torch._dynamo.config.force_nn_module_property_static_shapes = not run.remedied
    for width in range(2, 6):
        run.compile(Wide(width), dynamic=None if run.remedied else False)(ones(1, width))


class Axis(int):
    """The number of a dimension."""


@case(
    "", "why-recompile",
    cause="int(axis) changes: 0, 1",
    advice="Each value of int(axis) is compiled by itself",
    counts=(2, 1),
    never=("is of another type",),
)  # fmt: skip
def axis_of_its_own_kind(run: Run) -> None:
    @run.compile
    def summed_along(x: Any, axis: Any) -> Any:
        return x.sum(axis)  # cause

    summed_along(ones(2, 3), Axis(0))
    summed_along(ones(2, 3), Axis(0 if run.remedied else 1))


@case(
    "", "why-break",
    cause=("Attempted to inline function marked as skipped", "DataLoader.__iter__"),
    advice="loop outside of the compiled function, and compile what is done in a round",
    counts=(1, 1),
)  # fmt: skip
def epoch_over_a_loader(run: Run) -> None:
    loader = DataLoader(TensorDataset(ones(4, 2)), batch_size=2)

    def added(total: Any, x: Any) -> Any:
        return total + x.sum()

    def epoch(total: Any) -> Any:
        for (x,) in loader:  # cause
            total = added(total, x)
        return total

    if run.remedied:
        added = run.compile(added)
        epoch(ones(1))
    else:
        run.compile(epoch)(ones(1))


@case(
    "", "why-break",
    cause="Failed to convert args/kwargs to proxy",
    advice="torch.func.hessian, which is traced",
    counts=(2, 1),
)  # fmt: skip
def curvature_of_a_loss(run: Run) -> None:
    def loss(x: Any) -> Any:
        return (x**3).sum()

    @run.compile
    def curved(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.func.hessian(loss)(x)
        return torch.autograd.functional.hessian(loss, x)  # cause

    curved(ones(2))


@case(
    "", "why-break",
    cause="Failed to convert args/kwargs to proxy",
    advice="torch.func.jacrev, which is traced",
    counts=(2, 1),
)  # fmt: skip
def slopes_of_a_map(run: Run) -> None:
    def warped(x: Any) -> Any:
        return x.sin()

    @run.compile
    def sloped(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.func.jacrev(warped)(x)
        return torch.autograd.functional.jacobian(warped, x)  # cause

    sloped(ones(2))


@case(
    "pytorch#171320", "why-recompile",
    cause="first changes: 0.01, 0.02",
    advice="Dynamo has made first an input of the graph by itself",
    counts=(2, 1),
)  # fmt: skip
def product_of_two_numbers(run: Run) -> None:
    @run.compile
    def fused(x: Any, first: Any, second: Any) -> Any:
        return x * (first * second)  # cause

    for step in (1, 2, 3, 4):
        first = step / 100
        fused(ones(3), torch.tensor(first) if run.remedied else first, 1.5)


@case(
    "pytorch#123596", "why-failed",
    cause=("a.shape[0] is 3: it was the symbol s", "was fixed"),
    advice="mark kept as well, which has this size as a number there; or do without mark_dynamic",
    counts=(1, 1),
)  # fmt: skip
def marked_and_closed_over(run: Run) -> None:
    a = ones(3, 3)
    torch._dynamo.mark_dynamic(a, 0)
    kept = a * 2
    if run.remedied:
        torch._dynamo.mark_dynamic(kept, 0)

    @run.compile
    def added_to_kept(a: Any) -> Any:
        return a + kept  # cause

    with run.failing():
        added_to_kept(a)


@case(
    "", "why-recompile",
    cause="self.config['scale'] changes: 1.5, 2.5",
    advice="Or keep self.config['scale'] as a tensor",
    counts=(2, 1),
    never=("hand over self.config",),
)  # fmt: skip
def scale_of_a_config(run: Run) -> None:
    class Configured(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.config: dict[str, Any] = {"scale": 1.5}

        def forward(self, x: Any) -> Any:
            return x * self.config["scale"]  # cause

    model = Configured()
    scaled = run.compile(model, dynamic=False)
    for scale in (1.5, 2.5):
        model.config["scale"] = torch.tensor(scale) if run.remedied else scale
        scaled(ones(2))


@case(
    "", "why-recompile",
    cause=("step changes: 0, 1", "((1 + step) % 4) != 0 does not hold"),
    advice="Dynamo has made step an input of the graph by itself",
    counts=(3, 2),
)  # fmt: skip
def gradients_that_are_accumulated(run: Run) -> None:
    def accumulated(x: Any, step: Any, every: Any) -> Any:
        loss = x.sum() / every
        return loss * 2 if (step + 1) % every == 0 else loss  # cause

    call = run.compile(accumulated, dynamic=True if run.remedied else None)
    for step in range(6):
        call(ones(3), step, 4)


@case(
    "", "why-recompile",
    cause=("x.shape[0] grows: 3, 4, 7", "x.shape[1] grows: 5, 6, 8"),
    advice="Likewise of x.shape[1]",
    counts=(3, 1),
)  # fmt: skip
def sides_as_a_key(run: Run) -> None:
    table = {(height, width): 2.0 for height in (3, 4, 7) for width in (5, 6, 8)}

    @run.compile
    def looked_up(x: Any, factor: Any) -> Any:
        return x * (table[x.shape[0], x.shape[1]] if factor is None else factor)  # cause

    for height, width in ((3, 5), (4, 6), (7, 8)):
        factor = torch.tensor(table[height, width]) if run.remedied else None
        looked_up(ones(3, 5) if run.remedied else ones(height, width), factor)


@case(
    "pytorch#111966", "why-break",
    cause="2×  Call to `torch._dynamo.graph_break()`",
    advice="remove the call",
    counts=(1, 1),
    function="asked_by_a_hook",
)  # fmt: skip
def hook_that_breaks(run: Run) -> None:
    def asked_by_a_hook(module: Any, inputs: Any) -> Any:
        if not run.remedied:
            torch._dynamo.graph_break()  # cause
        return inputs

    layer = nn.Linear(2, 2)
    layer.register_forward_pre_hook(asked_by_a_hook)
    with contextlib.nullcontext():
        run.compile(nn.Sequential(layer, nn.ReLU()))(ones(1, 2))


@case(
    "", "why-recompile",
    cause="rate changes: 0.5, 0.25, 0.125",
    advice="Hand over rate as a tensor: torch.tensor(rate)",
    counts=(3, 1),
    never=("torch.compile(dynamic=True)",),
)  # fmt: skip
def floats_that_are_specialized(run: Run) -> None:
    @run.compile
    def decayed_by(x: Any, rate: Any) -> Any:
        return x * rate  # cause

    torch._dynamo.config.specialize_float = True
    for rate in (0.5, 0.25, 0.125):
        decayed_by(ones(2), torch.tensor(rate) if run.remedied else rate)
