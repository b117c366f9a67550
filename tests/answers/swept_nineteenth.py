"""Programs of a nineteenth sweep: regional compilation, dtypes, what comes behind a return."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn, ones
from torch.overrides import TorchFunctionMode

from tests.answers.cases import Run, case


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
    cause="dtype of y changes: float32, float64",
    advice="y is what halved_and_shifted goes on with after its graph break, with another dtype",
    counts=(4, 1),
    never=("y.to(",),
    function="halved_and_shifted, resumed",
)  # fmt: skip
def computed_before_a_break(run: Run) -> None:
    @run.compile
    def halved_and_shifted(x: Any) -> Any:
        y = x * 0.5
        if not run.remedied:
            torch._dynamo.graph_break()
        return y + 1

    halved_and_shifted(ones(2))
    halved_and_shifted(ones(2, dtype=torch.float32 if run.remedied else torch.float64))


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
    cause=(
        "longest changes: 16, 17",
        "longest changes whenever prefills does, so that what is advised there saves nothing",
    ),
    advice="asks for: keep the calls on one side of it, or do without what asks",
    counts=(3, 1),
)  # fmt: skip
def prefills_among_pages(run: Run) -> None:
    """How long the longest is can be a symbol; that alone saves no entry."""

    @run.compile
    def attended(x: Any, prefills: int, longest: int) -> Any:
        x = x.clone()
        if prefills > 0:  # cause
            x[:prefills] *= 2
        return x / longest

    @run.whole
    def attended_without_deciding(x: Any, begins: Any, longest: Any) -> Any:
        return torch.where(begins, x * 2, x) / longest

    for prefills, longest in ((2, 16), (0, 17), (0, 18), (1, 19)):
        if run.remedied:
            begins = torch.arange(4)[:, None] < prefills
            attended_without_deciding(ones(4, 8), begins, torch.tensor(longest))
        else:
            attended(ones(4, 8), prefills, longest)


@case(
    "", "why-break",
    cause="Failed to trace builtin operator",
    advice="which prints after the graph, and of a tensor what it holds then",
    counts=(2, 1),
)  # fmt: skip
def printed_and_then_written_into(run: Run) -> None:
    """Left for later, it would print what is written behind it."""

    @run.compile
    def shifted(x: Any) -> Any:
        y = x * 2
        if not run.remedied:
            print(y)  # cause
        return y.add_(1)

    shifted(ones(2))


@case(
    "", "why-break",
    cause="Failed to trace builtin operator",
    advice="torch._dynamo.config.reorderable_logging_functions.add(print)",
    counts=(0, 1),
)  # fmt: skip
def printed_around_a_block(run: Run) -> None:
    """In what is inlined, within `with`, and what is computed there: all of it can wait."""

    @contextlib.contextmanager
    def told(what: str) -> Iterator[None]:
        print("begins", what)  # cause
        yield
        print("ends", what)

    @run.compile
    def normed(x: Any) -> Any:
        with told("norm"):
            y = x * 2
            print("sum", y.sum())
        return y + 1

    with torch._dynamo.config.patch(
        reorderable_logging_functions={print} if run.remedied else set()
    ):
        normed(ones(2))


@case(
    "", "why-recompile",
    cause="the torch function mode.calls changes",
    advice="An int that a torch function mode keeps is a constant of the graph. Keep",
    counts=(2, 1),
    never=("is compiled by itself",),
)  # fmt: skip
def calls_that_a_mode_counts(run: Run) -> None:
    class Counting(TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.calls: Any = torch.tensor(0) if run.remedied else 0

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.calls += 1  # cause
            return func(*args, **(kwargs or {}))

    @run.compile
    def waved(x: Any) -> Any:
        return x.sin()

    x = ones(2)
    with Counting():
        waved(x)
        waved(x)


@case(
    "", "why-break",
    cause="mark_dirty input not returned",
    advice="return from forward what ctx.mark_dirty is given",
    counts=(1, 1),
)  # fmt: skip
def written_into_and_not_returned(run: Run) -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return (x, x.sum()) if run.remedied else x.sum()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 2

    @run.compile
    def doubled(x: Any) -> Any:
        return Doubled.apply(x.clone())  # cause

    with run.failing():
        doubled(ones(2, requires_grad=True))


@case(
    "", "why-failed",
    cause="NYI SymInt equality",
    advice="the operator takes no symbol: hand power over as a tensor",
    counts=(1, 1),
)  # fmt: skip
def power_under_a_transform(run: Run) -> None:
    @run.compile
    def differentiated(x: Any, power: Any) -> Any:
        return torch.func.jvp(lambda v: (v**power).sin(), (x,), (x,))  # cause

    for power in (2, 3):
        with run.failing():
            differentiated(ones(2), torch.tensor(power) if run.remedied else power)


@case(
    "", "why-recompile",
    cause="length of totals changes: 0, 1",
    advice="totals is changed by the compiled function itself at",
    counts=(2, 1),
    never=("in <lambda>", "RETURN_VALUE"),
)  # fmt: skip
def totals_that_are_made_when_missing(run: Run) -> None:
    """What is made is put there when the function that makes it has returned."""
    totals: Any = collections.defaultdict(lambda: torch.zeros(2))
    if run.remedied:
        totals["loss"] = torch.zeros(2)

    @run.compile
    def added(totals: Any, x: Any) -> Any:
        return totals["loss"] + x  # cause

    for _ in range(2):
        added(totals, ones(2))
