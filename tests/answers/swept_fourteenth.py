"""Programs of a fourteenth sweep: over all five questions."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn, ones

from tests.answers.cases import Run, case


@case(
    "", "why-break",
    cause=("Reconstruction failure", "comes of 1: ", "what cannot be made: marks (SetIterator)"),
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
    counts=(0, 1),
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
    advice="hand over for out= a tensor that has the shape of the result already",
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
    "", "why-break",
    cause=("Observed exception", "unsupported operand type(s) for %"),
    advice="Dynamo writes no number into a text by % that is a symbol: use an f-string",
    counts=(0, 1),
)  # fmt: skip
def size_written_by_percent(run: Run) -> None:
    names: dict[str, int] = {}

    def compiled_name(size: int) -> str:
        return f"of {size}" if run.remedied else "of %d" % size  # noqa: UP031  # cause

    @partial(run.compile, dynamic=True)
    def counted_by_name(x: Any) -> Any:
        names[compiled_name(x.shape[0])] = 1
        return x * 2

    counted_by_name(ones(7))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is free", "that is not compiled, but given up: why-break says why"),
    counts=(0, 1),
)  # fmt: skip
def size_of_what_is_given_up(run: Run) -> None:
    """A symbol of what was never compiled is no answer by itself."""

    @partial(run.compile, dynamic=True)
    def given_up(x: Any) -> Any:
        y = x * x.shape[0]  # cause
        if not run.remedied:
            torch._dynamo.skip_frame("for the bench")
        return y

    given_up(ones(7))


@case(
    "", "why-break",
    cause=("invalid call to builtin op handler", "TypeError when trying to handle op max"),
    advice="write out in a loop what the builtin does, or use torch functions",
    counts=(1, 1),
)  # fmt: skip
def largest_by_a_key(run: Run) -> None:
    @run.compile
    def largest(xs: Any) -> Any:
        if run.remedied:
            return torch.where(xs[0].sum() > xs[1].sum(), *xs)
        return max(xs, key=lambda x: x.sum())  # cause

    largest([ones(2), ones(2) * 2])


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 2 <= x.shape[0] <= 4 does not hold",
    advice="Dynamo has made x.shape[0] a symbol by itself",
    counts=(5, 1),
    never=("self.cos.shape[0], x.shape[0])",),
)  # fmt: skip
def positions_that_grow(run: Run) -> None:
    """As positional embeddings grow theirs."""

    class Positions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.known = 4
            self.register_buffer("cos", ones(4))

        def forward(self, x: Any) -> Any:
            if x.shape[0] > self.known:  # cause
                self.known = x.shape[0]
                self.cos = ones(x.shape[0])
            return x * self.cos[: x.shape[0]]

    positions = Positions()
    if run.remedied:
        positions.known, positions.cos = 16, ones(16)
    compiled = run.compile(positions, dynamic=True if run.remedied else None)
    for size in (3, 4, 6, 5, 9):
        compiled(ones(size))


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
