"""What becomes of a function behind its graph breaks: the rest of it is compiled by itself, with
what is left, or the frame is given up, or nothing of it is compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


def halves_with_a_break(parts: Any, at: int) -> Any:
    torch._dynamo.graph_break()
    return parts[at]


@case(
    "", "why-recompile",
    cause=("rank of halves_with_a_break(parts, at) changes: 1, 2", "TENSOR_MATCH L['___stack1']"),
    advice="halves_with_a_break(parts, at) is what weighted_by_a_part goes on with after its graph",
    counts=(4, 1),
    never=("of ___stack", "reshape"),
    # Of the two functions that are compiled again, the one that took longer is told first.
    function="resume_in_weighted_by_a_part",
)  # fmt: skip
def rank_left_by_a_break(run: Run) -> None:
    @run.compile
    def weighted_by_a_part(x: Any, parts: Any, at: int) -> Any:
        return x.sin() + (parts[0] if run.remedied else halves_with_a_break(parts, at)) * 2  # cause

    for at in (0, 0) if run.remedied else (0, 1):
        weighted_by_a_part(ones(2), [ones(2), ones(2, 1)], at)


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


class Meter:
    """Adds up what it is given."""

    def __init__(self) -> None:
        self.sum = 0.0

    def update(self, value: Any) -> None:
        """One more."""
        self.sum += value


@case(
    "", "why-recompile",
    cause="self.losses.sum changes: 0.0",
    advice="Dynamo has made self.losses.sum an input of the graph by itself",
    counts=(3, 2),
    never=("__self__.sum changes", "self.losses.sum is what"),
    function="forward_with_a_meter",
)  # fmt: skip
def method_left_by_a_break(run: Run) -> None:
    def forward_with_a_meter(self: Any, x: Any) -> Any:
        loss = x.sum()
        self.losses.update(loss.item())
        return loss * self.losses.sum

    class Metered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.losses = Meter()

        forward = forward_with_a_meter

    metered = run.compile(Metered(), dynamic=True if run.remedied else None)
    for _ in range(2):
        metered(ones(2) / 3)


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
    cause=("many changes: 3, 4", "rows.shape[0] changes: 3, 4"),
    advice="is what first_rows goes on with after its graph break, as a number of Python",
    counts=(5, 1),
    never=("changes whenever",),
    function="first_rows, resumed at",
)  # fmt: skip
def rows_left_by_a_break(run: Run) -> None:
    """Without the break the rows are no argument of a function that goes on, either."""

    @run.compile
    def first_rows(x: Any) -> Any:
        if run.remedied:
            return x * (torch.arange(8) < x[0])
        many = int(x[0].item())
        rows = x[:many]
        torch._dynamo.graph_break()
        return rows * many  # cause

    for many in (3.0, 4.0):
        first_rows(torch.full((8,), many))


@case(
    "", "why-recompile",
    cause="none was compiled: why-break says why",
    counts=(0, 1),
)  # fmt: skip
def bias_that_comes_later(run: Run) -> None:
    """The first call computes nothing, and so none that follows is compiled."""

    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bias: nn.Parameter | None = None

        def forward(self, x: Any) -> Any:
            return x if self.bias is None else x + self.bias

    shifted = Shifted()
    compiled = run.compile(shifted)
    if run.remedied:
        shifted.bias = nn.Parameter(ones(3))
    compiled(ones(3))
    shifted.bias = nn.Parameter(ones(3))
    compiled(ones(3))


@case(
    "", "why-break",
    cause="No ops traced for the FX graph",
    advice="none that follows is compiled then",
    counts=(0, 1),
    function="with_all_before",
)  # fmt: skip
def sum_of_what_came_before(run: Run) -> None:
    @run.compile
    def with_all_before(x: Any, before: Any) -> Any:
        for each in before:
            x = x + each
        return x

    before = [ones(2)] if run.remedied else []
    with_all_before(ones(2), before)
    with_all_before(ones(2), [ones(2)])


@case(
    "", "why-break",
    cause="No ops traced for the FX graph",
    counts=(0, 0),
    never=("none that follows is compiled then",),
    function="counted_rounds",
)  # fmt: skip
def loop_that_only_counts(run: Run) -> None:
    @run.compile
    def counted_rounds(x: Any) -> Any:
        rounds = 0
        for each in (1, 2):
            rounds += each
        return x, rounds

    counted_rounds(ones(2))


class Carried(NamedTuple):
    """What a cell hands on."""

    hidden: Any
    steps: int


@case(
    "", "why-break",
    cause="No ops traced for the FX graph",
    advice="none that follows is compiled then",
    counts=(0, 1),
    function="cell_from_nothing",
)  # fmt: skip
def first_step_computes_nothing(run: Run) -> None:
    @run.compile
    def cell_from_nothing(x: Any, carried: Carried) -> Carried:
        hidden = x if carried.hidden is None else carried.hidden * 0.5 + x
        return Carried(hidden, carried.steps)

    carried = Carried(ones(2) if run.remedied else None, 0)
    for _ in range(3):
        carried = cell_from_nothing(ones(2), carried)


@case(
    "", "why-break",
    cause=("1 cause: 3 frames given up", "raised exception ValueError('too long')"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def refused_deep_within(run: Run) -> None:
    """Each function that the exception leaves is tried by itself."""

    def checked(x: Any) -> Any:
        if x.shape[0] > 2:
            raise ValueError("too long")  # cause
        return x

    def inner(x: Any) -> Any:
        y = checked(x)
        return y + 1

    @run.compile
    def outer(x: Any) -> Any:
        return inner(x.sin()) * 2

    with run.failing():
        outer(ones(2 if run.remedied else 3))


@case(
    "", "is-guarded", expression="share.item()",
    cause="share.item() is guarded: it must be 0.5",
    counts=(2, 1),
    never=("nothing that can be asked", "nothing is called"),
)  # fmt: skip
def share_left_by_a_break(run: Run) -> None:
    """Answers call it so, and so can be asked."""

    @run.compile
    def scaled(share: Any, x: Any) -> Any:
        return share.item() * x

    for share in (0.5, 0.5 if run.remedied else 0.7):
        scaled(torch.tensor(share), ones(2))


@case(
    "", "why-recompile",
    cause="rows.shape[0] changes: 8, 5",
    advice="torch._dynamo.maybe_mark_dynamic(rows, 0) before the first call",
    counts=(4, 3),
    never=("torch._dynamo.mark_dynamic(rows, 0)",),
)  # fmt: skip
def size_needed_behind_a_break(run: Run) -> None:
    """What is marked is handed to the rest of the function, which would refuse the mark."""

    @run.compile
    def named_by_its_rows(rows: Any) -> Any:
        total = rows.sum()  # cause
        print("read")
        names = {rows.shape[0]: 2.0}
        return total * names[rows.shape[0]] + rows

    for count in (8, 5):
        rows = ones(count, 2)
        if run.remedied:
            torch._dynamo.maybe_mark_dynamic(rows, 0)
        named_by_its_rows(rows)
