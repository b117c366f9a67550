"""Numbers that are handed over as arguments: ints, floats and complex ones."""

from __future__ import annotations

from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="phase changes: 1j, 2j, 3j",
    advice="hand over phase as a tensor, torch.tensor(phase)",
    counts=(3, 1),
)  # fmt: skip
def phase_of_each_step(run: Run) -> None:
    @run.compile
    def turned(x: Any, phase: Any) -> Any:
        return x * phase  # cause

    for phase in (1j, 2j, 3j):
        turned(ones(2), torch.tensor(phase) if run.remedied else phase)


@case(
    "", "why-recompile",
    cause="phase changes: 1j, 2j",
    advice="Each value of phase is compiled by itself",
    counts=(2, 1),
    never=("torch.tensor(phase)",),
)  # fmt: skip
def phase_that_decides(run: Run) -> None:
    @run.compile
    def turned_or_not(x: Any, phase: Any) -> Any:
        if phase == 1j:  # cause
            return x * 2
        return x + 1

    for phase in (1j, 1j if run.remedied else 2j):
        turned_or_not(ones(2), phase)


@case(
    "", "why-recompile",
    cause="where.stop changes: 2, 3",
    advice="Dynamo has made where.stop an input of the graph by itself",
    counts=(2, 1),
)  # fmt: skip
def slice_that_is_handed_over(run: Run) -> None:
    def rows(x: Any, where: slice) -> Any:
        return x[where] * 2  # cause

    compiled = run.compile(rows, dynamic=True if run.remedied else None)
    for stop in (2, 3, 4):
        compiled(ones(8), slice(0, stop))


@case(
    "pytorch#132849", "why-recompile",
    cause="longest changes: 33, 34",
    advice="To save the entry for its first value: torch.compile(dynamic=True)",
    counts=(2, 1),
    never=("allow_unspec_int_on_nn_module",),
)  # fmt: skip
def longest_sequence(run: Run) -> None:
    def decode(x: Any, longest: Any) -> Any:
        return x + torch.zeros(longest).sum()  # cause

    compiled = run.compile(decode, dynamic=True if run.remedied else None)
    for longest in (33, 34, 35, 36):
        compiled(ones(2), longest)


@case(
    "", "why-recompile",
    cause="limit changes: nan, 1.0",
    advice="Dynamo makes no symbol of nan, which has an entry of its own",
    counts=(2, 1),
)  # fmt: skip
def no_limit_at_first(run: Run) -> None:
    @run.compile
    def limited(x: Any, limit: Any) -> Any:
        return x * limit  # cause

    for limit in (float("nan"), 1.0):
        limited(ones(2), torch.tensor(limit) if run.remedied else limit)


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
    cause="rate changes: 0.1, 0.2",
    advice="To save the entry for its first value: torch.compile(dynamic=True).",
    counts=(2, 1),
    never=("in a tensor",),
)  # fmt: skip
def rate_that_is_compared_later(run: Run) -> None:
    """In a tensor it would break the graph where the program decides by it."""

    def weighted_unless_small(x: Any, rate: Any) -> Any:
        y = x * rate  # cause
        return y + 1 if rate > 0.5 else y

    compiled = run.compile(weighted_unless_small, dynamic=True if run.remedied else None)
    for rate in (0.1, 0.2, 0.3):
        compiled(ones(3), rate)


@case(
    "", "why-recompile",
    cause=("n changes: 2, 4  (1 of 2)", "n == 2 or n == 4 or n == 6 does not hold  (1 of 2)"),
    advice="To save the entry for its first value: torch.compile(dynamic=True)",
    counts=(3, 1),
    never=("expected 2 or n",),
)  # fmt: skip
def one_of_those_that_are_warm(run: Run) -> None:
    warm = (2, 4, 6)

    def planned(x: Any, n: int) -> Any:
        return x + 1 if n in warm else x * n  # cause

    compiled = run.compile(planned, dynamic=True if run.remedied else None)
    for n in (2, 4, 6 if run.remedied else 8):
        compiled(ones(3), n)
