"""Numbers by which the program finds an element, a key or a layer, so that their values are
needed."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="self.layer_idx grows: 0, 1, 2, 3",
    advice="needs the value of self.layer_idx as an index into a list",
    counts=(4, 2),
    never=("allow_unspec_int_on_nn_module",),
)  # fmt: skip
def blocks_called_one_by_one(run: Run) -> None:
    class Block(nn.Module):
        def __init__(self, layer_idx: int) -> None:
            super().__init__()
            self.layer_idx = layer_idx
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Any, caches: Any) -> Any:
            own = caches if run.remedied else caches[self.layer_idx]  # cause
            return self.linear(x) + own

    caches = [ones(2) for _ in range(4)]
    x = ones(2)
    for at in range(4):
        block = run.compile(Block(at))
        x = block(x, caches[at] if run.remedied else caches)


@case(
    "pytorch#174541", "why-recompile",
    cause=("self.key changes: 0.1, 0.2, 0.3", "by BINARY_SUBSCR"),
    advice="self.key is a symbol until",
    counts=(3, 1),
    never=("To save the entry",),
)  # fmt: skip
def modules_with_float_keys(run: Run) -> None:
    cache = {0.1: ones(2), 0.2: ones(2), 0.3: ones(2)}

    class Cached(nn.Module):
        def __init__(self, key: float) -> None:
            super().__init__()
            self.key = key
            self.found = cache[key]

        def forward(self, x: Any) -> Any:
            return x * (self.found if run.remedied else cache[self.key])  # cause

    for key in cache:
        run.compile(Cached(key))(ones(2))


class Scheduler:
    """Finds the noise of a step by its number, as those of diffusers do."""

    sigmas = (1.0, 0.7, 0.3, 0.0)
    step_index: int | None = None

    def taken(self, x: Any, sigma: float, following: float) -> Any:
        return x + (following - sigma) * x.sin()

    def step(self, x: Any) -> Any:
        if self.step_index is None:  # cause
            self.step_index = 0
        return self.taken(x, self.sigmas[self.step_index], self.sigmas[self.step_index + 1])


SCHEDULER = Scheduler()


@case(
    "", "why-recompile",
    cause="SCHEDULER.step_index grows: 0, 1, 2",
    advice="The program finds an element by SCHEDULER.step_index: do that outside",
    counts=(3, 2),
    never=("over as an argument", "in a tensor"),
)  # fmt: skip
def noise_of_each_step(run: Run) -> None:
    @run.compile
    def denoised(x: Any) -> Any:
        return SCHEDULER.step(x)

    @run.compile
    def with_what_is_found(x: Any, sigma: float, following: float) -> Any:
        return SCHEDULER.taken(x, sigma, following)

    x = ones(2)
    for step in range(3):
        SCHEDULER.step_index = step
        sigma, following = SCHEDULER.sigmas[step : step + 2]
        x = with_what_is_found(x, sigma, following) if run.remedied else denoised(x)


@case(
    "", "why-recompile",
    cause="self.theta changes",
    advice="look it up outside of the compiled function, and hand over what is found",
    counts=(4, 1),
    never=("(would fail too)",),
)  # fmt: skip
def row_found_by_a_float(run: Run) -> None:
    """Where a float was a symbol, torch guards twice on its value, word for word."""
    table = {float(at): ones(2) * at for at in range(4)}

    class Layer(nn.Module):
        def __init__(self, theta: float) -> None:
            super().__init__()
            self.theta = theta
            self.row = table[theta]

        def forward(self, x: Any) -> Any:
            return x + (self.row if run.remedied else table[self.theta])  # cause

    for theta in table:
        run.compile(Layer(theta))(ones(2))


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
    "", "why-recompile",
    cause="self.step grows: 0, 1, 2",
    advice="The program finds an element by self.step: do that outside of the compiled function",
    counts=(3, 1),
    never=("allow_unspec_int", "in a tensor"),
)  # fmt: skip
def layer_of_each_step(run: Run) -> None:
    """It finds by what is left of the number."""

    class Cycled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
            self.step = 0

        def forward(self, x: Any) -> Any:
            return self.layers[self.step % 3](x)  # cause

    cycled = Cycled()
    by_step = run.compile(cycled)
    by_layer = run.compile(lambda x, layer: layer(x))
    for step in range(3):
        cycled.step = step
        if run.remedied:
            by_layer(ones(1, 2), cycled.layers[step % 3])
        else:
            by_step(ones(1, 2))


@case(
    "", "why-recompile",
    cause="self.layer_idx grows: 0, 1, 2, 3",
    advice="needs the value of self.layer_idx as a key of a dict",
    counts=(4, 2),
    never=("allow_unspec_int_on_nn_module", "register_buffer"),
)  # fmt: skip
def layers_that_keep_what_they_saw(run: Run) -> None:
    class Layer(nn.Module):
        def __init__(self, layer_idx: int) -> None:
            super().__init__()
            self.layer_idx = layer_idx
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Any, kept: Any) -> Any:
            if not run.remedied:
                kept[self.layer_idx] = x  # cause
            return self.linear(x)

    kept: Any = dict.fromkeys(range(4))
    x = ones(1, 2)
    for at in range(4):
        x = run.compile(Layer(at))(x, kept)


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="needs its value",
    counts=(3, 2),
)  # fmt: skip
def size_in_a_text(run: Run) -> None:
    table = {str(each): each for each in range(3, 7)}

    @run.compile
    def looked_up(x: Any) -> Any:
        if run.remedied:
            return x * x.shape[0]
        return x * table[f"{x.shape[0]}"]  # cause

    for size in (3, 4, 5):
        looked_up(ones(size))


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="needs its value",
    counts=(3, 2),
)  # fmt: skip
def size_as_an_index(run: Run) -> None:
    weights = [ones(1)] * 8
    stacked = torch.stack(weights)

    @run.compile
    def weighted_by_size(x: Any) -> Any:
        if run.remedied:
            return x * stacked[x.shape[0]]
        return x * weights[int(x.shape[0])]  # cause

    for size in (3, 4, 5):
        weighted_by_size(ones(size))
