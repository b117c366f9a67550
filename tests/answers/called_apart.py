"""Programs whose functions are compiled by themselves because what calls them breaks, and are
called on several lines, or on one."""

from __future__ import annotations

from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch-forecasting", "why-recompile",
    cause="dtype of x changes: float32, float64",
    advice="remove that break (why-break says how)",
    counts=(2, 1),
)  # fmt: skip
def layer_of_two_lines(run: Run) -> None:
    def raised_apart(x: Any) -> Any:
        return x * 2 + 1  # cause

    @run.compile
    def both_lines(x: Any) -> Any:
        for _ in range(1):
            if not run.remedied:
                torch._dynamo.graph_break()
        first = raised_apart(x)
        return first, raised_apart(x.double())

    both_lines(ones(3))


@case(
    "pytorch-forecasting", "why-recompile",
    cause="rank of x changes: 1, 2",
    advice="remove that break (why-break says how)",
    counts=(2, 1),
    never=("reshape x to one rank",),
)  # fmt: skip
def layer_of_two_ranks(run: Run) -> None:
    def ranked_apart(x: Any) -> Any:
        return x.sin() + 1  # cause

    @run.compile
    def both_ranks(x: Any) -> Any:
        for _ in range(1):
            if not run.remedied:
                torch._dynamo.graph_break()
        first = ranked_apart(x)
        return first, ranked_apart(x[None])

    both_ranks(ones(3))


@case(
    "", "why-recompile",
    cause="dtype of x changes: float32, float64",
    advice="A dtype is never a symbol",
    counts=(2, 1),
    never=("remove that break",),
)  # fmt: skip
def layer_of_one_line(run: Run) -> None:
    def raised_together(x: Any) -> Any:
        return x * 2 + 1  # cause

    @run.compile
    def one_line(x: Any) -> Any:
        for _ in range(1):
            torch._dynamo.graph_break()
        return raised_together(x)

    one_line(ones(3))
    one_line(ones(3) if run.remedied else ones(3).double())
