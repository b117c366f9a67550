"""Programs of which an answer named a thing as nobody wrote it, or of two causes the old one."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones

PROGRESS: dict[str, Any] = {"count": 0}


@case(
    "", "why-recompile",
    cause="PROGRESS['count'] grows: 0, 1, 2",
    advice="count outside of it. Where it is needed inside: hand PROGRESS['count'] over",
    counts=(3, 1),
    never=("looked up", "price", "a compiled function sets it"),
)  # fmt: skip
def count_in_a_global_dict(run: Run) -> None:
    PROGRESS["count"] = torch.tensor(0) if run.remedied else 0

    @run.compile
    def corrected(x: Any) -> Any:
        PROGRESS["count"] += 1  # cause
        return x / (1 - 0.5 ** PROGRESS["count"])

    for _ in range(3):
        corrected(ones(2))


@case(
    "", "why-recompile",
    cause="np.interp(values, [0, 1], [0, 255]).shape[0] changes: 4, 5",
    advice="has made np.interp(values, [0, 1], [0, 255]).shape[0] a symbol by itself",
    counts=(4, 2),
    function="stretched, resumed",
    never=("0 of ___stack", "0] of ___"),
)  # fmt: skip
def array_left_by_a_break(run: Run) -> None:
    @run.compile
    def stretched(x: Any) -> Any:
        values = x.sin().numpy()
        return torch.from_numpy(np.interp(values, [0, 1], [0, 255]).astype(np.float32))  # cause

    for size in (4, 4) if run.remedied else (4, 5):
        stretched(ones(size))


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
    cause=("sines.<locals>.<lambda> at named.py", "has no attribute '__code__'"),
    advice="is another function in one call than in another",
    counts=(3, 1),
    never=("code of its own each time", "decides for itself"),
)  # fmt: skip
def activations_of_layers(run: Run) -> None:
    class Activated(nn.Module):
        def __init__(self, activation: Any) -> None:
            super().__init__()
            self.activation = activation

        def forward(self, x: Any) -> Any:
            return self.activation(x)  # cause

    for activation in [torch.tanh] * 3 if run.remedied else [*sines(), torch.tanh]:
        run.compile(Activated(activation))(ones(2))


def sines() -> list[Any]:
    return [
        lambda x: x.sin(),
        lambda x: x.cos(),
    ]


@case(
    "", "why-recompile",
    cause=(
        "type of x changes: Tensor, list, tuple",
        "0/0  type of x: expected Tensor, actual tuple",
    ),
    advice="Pass x always as the same type",
    counts=(3, 1),
    never=("not recorded why",),
)  # fmt: skip
def one_or_several(run: Run) -> None:
    @run.compile
    def added(x: Any) -> Any:
        return sum(x) if isinstance(x, (list, tuple)) else x * 2  # cause

    added(ones(2))
    added(ones(2) if run.remedied else [ones(2), ones(2)])
    added(ones(2) if run.remedied else (ones(2), ones(2)))


@case(
    "", "why-recompile",
    cause=(
        "self.merged changes: False, True  (1 of 2)",
        "length of self.adapters changes: 1, 2  (1 of 2)",
    ),
    advice="Each value of self.merged is compiled by itself",
    counts=(3, 2),
    never=("(2 of 2)",),
)  # fmt: skip
def merged_and_unmerged(run: Run) -> None:
    """Unmerged again, it is the number of adapters for which there is no entry."""

    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.merged = False
            self.adapters = [2.0]

        def forward(self, x: Any) -> Any:
            if not self.merged:
                for scale in self.adapters:  # cause
                    x = x * scale
            return x + 1

    net = Adapted()
    compiled = run.compile(net)
    for merged in (False, not run.remedied, False):
        net.merged = merged
        compiled(ones(2))
        if merged:
            net.adapters.append(3.0)
    if run.remedied:
        net.adapters.append(3.0)
        compiled(ones(2))


@case(
    "", "why-break",
    cause="marked as skipped",
    advice="the statement decides by the clock",
    counts=(2, 1),
    never=("measure around",),
)  # fmt: skip
def budget_of_time(run: Run) -> None:
    @run.compile
    def refined(x: Any) -> Any:
        x = x.sin()
        if not run.remedied and time.perf_counter() < 0:  # cause
            return x
        return x.cos()

    refined(ones(2))


@case(
    "", "why-break",
    cause="Unsupported method call",
    advice="write to files and streams outside of the compiled function",
    counts=(2, 1),
)  # fmt: skip
def progress_written(run: Run) -> None:
    @run.compile
    def counted_on(x: Any) -> Any:
        x = x.sin()
        if not run.remedied:
            sys.stderr.write("")  # cause
        return x.cos()

    counted_on(ones(2))


class Schedule:
    def __init__(self) -> None:
        self.index: Any = None


SCHEDULE = Schedule()


@case(
    "", "why-recompile",
    cause="SCHEDULE.index changes: None, 1, 2, 3",
    advice="An int that is a part of a global is a constant of the graph",
    counts=(4, 1),
    never=("accept both",),
)  # fmt: skip
def steps_that_begin_with_none(run: Run) -> None:
    SCHEDULE.index = torch.tensor(0) if run.remedied else None

    @run.compile
    def denoised(x: Any) -> Any:
        if SCHEDULE.index is None:  # cause
            SCHEDULE.index = 0
        SCHEDULE.index += 1
        return x * SCHEDULE.index

    for _ in range(4):
        denoised(ones(2))


@case(
    "", "why-recompile",
    cause="count grows: 1, 2, 3",
    advice="count is a symbol until tests/answers/named.py:",
    counts=(3, 1),
)  # fmt: skip
def layers_up_to_a_number(run: Run) -> None:
    class Stacked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.LogSigmoid() for _ in range(3)])

        def forward(self, x: Any, count: Any) -> Any:
            for layer in self.layers[:count]:  # cause
                x = layer(x)
            return x

    compiled = run.compile(Stacked())
    for count in (3, 3, 3) if run.remedied else (1, 2, 3):
        compiled(ones(2), count)


SEEN: list[Any] = []


@case(
    "", "why-recompile",
    cause=("length of SEEN grows: 0, 1, 2", "by LOAD_METHOD append"),
    advice="SEEN is changed by the compiled function itself at",
    counts=(3, 1),
    never=("hand over",),
)  # fmt: skip
def losses_kept_in_a_global(run: Run) -> None:
    SEEN.clear()

    @run.compile
    def tracked(x: Any) -> Any:
        loss = (x * 2).sum()
        if not run.remedied:
            SEEN.append(loss)  # cause
        return loss

    for _ in range(3):
        tracked(ones(2))


@case(
    "", "is-guarded", expression="layers[0].bias.requires_grad",
    cause=(
        "if its self is layers, layers[0].bias.requires_grad is guarded",
        "nothing is called layers in what was compiled",
    ),
    counts=(2, 1),
    never=("if its fn is",),
)  # fmt: skip
def layers_by_the_callers_name(run: Run) -> None:
    class ModuleListed(nn.ModuleList):
        def forward(self, x: Any) -> Any:
            return self[0](x)

    layers = ModuleListed([nn.Linear(3, 3)])
    compiled = run.compile(layers)
    compiled(ones(2, 3))
    if not run.remedied:
        layers[0].bias.requires_grad_(False)
    compiled(ones(2, 3))


@case(
    "", "is-guarded", expression="self.negative_slope",
    cause=(
        "self.act.negative_slope is guarded: it must be 0.1",
        "self of an inlined function is self.act of the compiled one",
    ),
    counts=(2, 1),
)  # fmt: skip
def attribute_of_an_inlined_layer(run: Run) -> None:
    """A line of torch's speaks of `self`, and that is a part of what was compiled."""

    class Sloped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.LeakyReLU(0.1)

        def forward(self, x: Any) -> Any:
            return self.act(x)

    net = Sloped()
    compiled = run.compile(net)
    compiled(ones(2))
    if not run.remedied:
        net.act.negative_slope = 0.2
    compiled(ones(2))


OF_A_THREAD = threading.local()


@case(
    "", "why-recompile",
    cause="OF_A_THREAD.scale changes: 1.0, 2.0",
    advice="Dynamo has made OF_A_THREAD.scale an input of the graph by itself",
    counts=(2, 1),
    never=("decides for itself", "Each value of"),
)  # fmt: skip
def scale_of_a_thread(run: Run) -> None:
    """A lookup cannot read the value without asking the object: what it was the next entry says."""

    @run.compile
    def by_thread(x: Any) -> Any:
        return x * OF_A_THREAD.scale  # cause

    for scale in (1.0, 1.0 if run.remedied else 2.0):
        OF_A_THREAD.scale = scale
        by_thread(ones(2))
