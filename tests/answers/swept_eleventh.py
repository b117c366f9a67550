"""Programs of an eleventh sweep: what a second cause hides, and what one cause looks like two."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from torch import nn, ones

from tests.answers.cases import Run, case


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 8, 5, 8", "mask changes: None, <Tensor>", "mask.shape[0]"),
    advice="Dynamo has made x.shape[0] and mask.shape[0] symbols by itself",
    counts=(3, 1),
    never=("is a symbol until", "needs its value"),
)  # fmt: skip
def padding_only_where_it_is_needed(run: Run) -> None:
    """The mask is new in the second call, so its size is a number there, and so is that of x."""

    @run.compile
    def masked_sums(x: Any, mask: Any = None) -> Any:
        if mask is not None:
            x = x.masked_fill(mask, 0)  # cause
        return x.sum(1)

    for size, padded in ((8, run.remedied), (5, True), (8, True)):
        x, mask = ones(size, 4), torch.zeros(size, 4, dtype=torch.bool)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
            torch._dynamo.mark_dynamic(mask, 0)
        masked_sums(x, mask if padded else None)


@case(
    "", "why-recompile",
    cause=("bias changes: None, <Tensor>", "x.shape[0] changes: 4, 6"),
    advice="There is an entry for bias being None",
    counts=(2, 1),
    never=("is a symbol until", "needs its value"),
)  # fmt: skip
def bias_that_comes_with_more_rows(run: Run) -> None:
    @run.compile
    def biased(x: Any, bias: Any) -> Any:
        x = x.relu()
        return x if bias is None else x + bias  # cause

    biased(ones(6 if run.remedied else 4), ones(6) if run.remedied else None)
    biased(ones(6), ones(6))


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
    cause="function.__code__ is not there",
    advice="function is another function in one call than in another",
    counts=(3, 1),
    never=("function.__code__ was there", "the same keys and attributes"),
)  # fmt: skip
def loss_as_a_function_or_a_partial(run: Run) -> None:
    def squared(x: Any, y: Any) -> Any:
        return (x - y) ** 2

    def absolute(x: Any, y: Any) -> Any:
        return (x - y).abs()

    @run.compile
    def loss_of(function: Any, x: Any, y: Any) -> Any:
        return function(x, y)  # cause

    huber = functools.partial(nn.functional.huber_loss, delta=0.5)
    for function in (squared, absolute, huber):
        loss_of(squared if run.remedied else function, ones(2), ones(2))


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
    cause="self.embedded.weight.shape[0] changes: 10, 12",
    advice="Give it its size before the first call",
    counts=(2, 1),
    never=("with that they are symbols",),
)  # fmt: skip
def tokens_that_are_added(run: Run) -> None:
    """A symbol is made at the second size, so it saves nothing where there are two."""

    class Embedded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedded = nn.Embedding(10, 4)

        def forward(self, ids: Any) -> Any:
            return self.embedded(ids) * 2  # cause

    model = Embedded()
    compiled = run.compile(model)
    for more in (run.remedied, True):
        if more:
            model.embedded = nn.Embedding(12, 4)
        compiled(torch.tensor([1, 2]))


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


@case(
    "", "why-recompile",
    cause=("x.shape[0] grows: 4, 6, 7", "targets changes: None, <Tensor>"),
    advice="Dynamo has made x.shape[0] and targets.shape[0] symbols by itself",
    counts=(3, 1),
    never=("is a symbol until", "needs its value"),
)  # fmt: skip
def targets_that_are_as_many(run: Run) -> None:
    """What the program asserts of two sizes asks for the value of neither."""

    @run.compile
    def distance_to(x: Any, targets: Any = None) -> Any:
        if targets is None:  # cause
            return x * 2
        assert x.shape[0] == targets.shape[0]
        return x.sum() - targets.sum()

    for size in (4, 6, 7):
        x, targets = ones(size), ones(size)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
            torch._dynamo.mark_dynamic(targets, 0)
        distance_to(x, targets if run.remedied or size > 4 else None)


@case(
    "", "why-recompile",
    cause=("weights changes: None, <Tensor>", "There is an entry for weights being None"),
    advice="needs its value as the bound of a loop",
    counts=(2, 1),
)  # fmt: skip
def weights_of_rows_one_by_one(run: Run) -> None:
    """The weights are new and as many, but it is the loop that asks how many."""

    @run.compile
    def weighed_up(x: Any, weights: Any = None) -> Any:
        total = 0
        for row in range(x.shape[0]):
            total = total + (x[row] if weights is None else x[row] * weights[row])  # cause
        return total

    for size in (6 if run.remedied else 4, 6):
        weighed_up(ones(size), ones(size) if run.remedied or size > 4 else None)


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 8, 1", "asks whether it is > 4"),
    advice="mark_unbacked(x, 0) would not do, since tests/answers/swept_eleventh.py:",
    counts=(2, 1),
    never=("Torch's remedy",),
)  # fmt: skip
def summed_where_there_are_many(run: Run) -> None:
    """No entry has a symbol, so no condition is recorded."""

    @run.compile
    def summed_or_averaged(x: Any) -> Any:
        return x.sum(0) if x.shape[0] > 4 else x.mean(0)  # cause

    for size in (8, 8 if run.remedied else 1):
        summed_or_averaged(ones(size, 3))


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 8, 1",
    advice="Torch's remedy: torch._dynamo.decorators.mark_unbacked(x, 0)",
    counts=(2, 1),
    never=("asks whether",),
)  # fmt: skip
def rows_that_would_be_checked(run: Run) -> None:
    """The comparison is there, and never comes to be made."""

    @run.compile
    def perhaps_checked(x: Any, checked: bool = False) -> Any:
        if checked and x.shape[0] > 4:
            return x
        return x * 2  # cause

    for size in (8, 1):
        x = ones(size, 3)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(x, 0)
        perhaps_checked(x)
