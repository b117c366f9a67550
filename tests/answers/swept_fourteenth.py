"""Programs of a fourteenth sweep: over all five questions."""

from __future__ import annotations

from typing import Any

import torch
from torch import ones

from tests.answers.cases import Run, case


@case(
    "", "why-break",
    cause=("Reconstruction failure", "comes of 1, at", "what cannot be made: marks (SetIterator)"),
    advice="print outside of the compiled function",
    counts=(0, 1),
)  # fmt: skip
def iterator_across_a_print(run: Run) -> None:
    """What cannot be made anew for the rest of a function is why that is given up."""

    @run.compile
    def marked_twice(x: Any) -> Any:
        marks = iter({1, 2})
        x = x * next(marks)
        if not run.remedied:
            print("marked")  # cause
        return x * next(marks)

    marked_twice(ones(3))


@case(
    "", "why-break",
    cause=("Read uninitialized cell", "what cannot be made: drawn", "halves_in_turn()"),
    advice="avoid the break that it comes of; or use up what cannot be made before that line",
    counts=(1, 1),
    function="halves_in_turn",
)  # fmt: skip
def generator_across_a_break(run: Run) -> None:
    @run.compile
    def halved_twice(x: Any) -> Any:
        def halves_in_turn() -> Any:
            yield x / 2
            yield x / 4  # cause

        drawn = halves_in_turn()
        first = next(drawn)
        if run.remedied:
            return first + next(drawn)
        torch._dynamo.graph_break()
        return first + next(drawn)

    halved_twice(ones(3))


@case(
    "", "why-break",
    cause=("Reconstruction failure", "what cannot be made: SetIterator"),
    advice="return what it is made from",
    counts=(0, 1),
    never=("comes of",),
)  # fmt: skip
def iterator_that_is_returned(run: Run) -> None:
    @run.compile
    def doubled_with_marks(x: Any) -> Any:
        marks = {1, 2}
        return x * 2, marks if run.remedied else iter(marks)  # cause

    doubled_with_marks(ones(3))


@case(
    "", "why-failed",
    cause=("broadcastable to [8]", "bench::every_second was traced with what the program"),
    advice="says of bench::every_second what it returns, with torch.library.opcheck",
    counts=(0, 1),
)  # fmt: skip
def pooled_by_a_wrong_fake(run: Run) -> None:
    """The operator returns 4, its fake says 8, and what is added has 4."""

    @torch.library.custom_op("bench::every_second", mutates_args=())
    def every_second(x: torch.Tensor) -> torch.Tensor:
        return x[::2].clone()

    @every_second.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return x.new_empty(x.shape[0] // 2 if run.remedied else x.shape[0])

    @run.compile
    def weighted(x: Any, weights: Any) -> Any:
        return every_second(x) + weights  # cause

    with run.failing():
        weighted(ones(8), ones(4))


@case(
    "", "why-failed",
    cause=("Shape mismatch with out= tensor variant", "out  f32[2, 2]"),
    counts=(0, 1),
    never=("out  f32[3, 3]",),
)  # fmt: skip
def result_of_another_size(run: Run) -> None:
    """By the time that Dynamo refuses it, torch has given its fake tensor the new size."""

    @run.whole
    def squared_into(x: Any, out: Any) -> Any:
        torch.matmul(x, x, out=out)  # cause
        return out + x

    with run.failing():
        squared_into(ones(3, 3), torch.empty(3, 3) if run.remedied else torch.empty(2, 2))


@case(
    "", "why-recompile",
    cause="object of act changes: torch.relu, torch.sin",
    advice="Each object that stands in act is compiled by itself",
    counts=(2, 1),
    never=("handed over",),
)  # fmt: skip
def activation_from_around(run: Run) -> None:
    """What a function has from the one around it nobody hands over."""
    act = torch.relu

    @run.compile
    def activated(x: Any) -> Any:
        return act(x)  # cause

    activated(ones(3))
    if not run.remedied:
        act = torch.sin
    activated(ones(3))
