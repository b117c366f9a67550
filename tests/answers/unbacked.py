"""Symbols that come from data and have no value: what asks for it, and what they are told about."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@case(
    "", "why-break",
    cause="Could not extract specialized integer",
    advice="do it with tensors as a whole",
    counts=(0, 1),
)  # fmt: skip
def rows_of_what_was_found(run: Run) -> None:
    torch._dynamo.config.capture_dynamic_output_shape_ops = True

    @run.compile
    def summed_by_rows(x: Any) -> Any:
        found = x.nonzero()
        return found.sum() if run.remedied else sum(each.sum() for each in found)  # cause

    summed_by_rows(ones(3))


@case(
    "", "why-break",
    cause="attempted to jump with SymNodeVariable",
    advice="of what always holds, torch._check",
    counts=(2, 1),
    never=("both sides computed",),
)  # fmt: skip
def branch_on_how_many_there_are(run: Run) -> None:
    torch._dynamo.config.capture_dynamic_output_shape_ops = True

    @run.compile
    def doubled_if_many(x: Any) -> Any:
        kinds = torch.unique(x)
        if run.remedied:
            torch._check(kinds.shape[0] > 2)
        if kinds.shape[0] > 2:  # cause
            return kinds * 2
        return kinds + 1

    doubled_if_many(torch.tensor([1, 2, 2, 3]))


@case(
    "pytorch#147672", "why-failed",
    cause=("data-dependent expression Ne(Mod(u0, 2), 0)", "u0 comes from"),
    advice="of what always holds, torch._check",
    counts=(0, 1),
)  # fmt: skip
def asked_whether_a_count_is_odd(run: Run) -> None:
    torch._dynamo.config.capture_dynamic_output_shape_ops = True

    @run.whole
    def in_pairs(x: Any) -> Any:
        chosen = x[x > 0]
        count = chosen.shape[0]
        if run.remedied:
            torch._check(count % 2 == 0)
        elif count % 2:  # cause
            return chosen
        return chosen * 2

    with contextlib.suppress(Exception):
        in_pairs(ones(4))


@case(
    "", "why-failed",
    cause=("Could not extract specialized integer", "u0 comes from"),
    advice="do it with tensors as a whole",
    counts=(0, 1),
)  # fmt: skip
def loop_over_what_was_found(run: Run) -> None:
    torch._dynamo.config.capture_dynamic_output_shape_ops = True

    @run.whole
    def summed(x: Any) -> Any:
        found = x.nonzero()
        return found.sum() if run.remedied else sum(each.sum() for each in found)  # cause

    with contextlib.suppress(Exception):
        summed(ones(3))


@case(
    "pytorch#158058", "why-failed",
    cause=("PendingUnbackedSymbolNotFound while tracing", "Pending unbacked symbols"),
    advice="pass its .item()",
    counts=(0, 1),
)  # fmt: skip
def tensors_where_numbers_stand(run: Run) -> None:
    @run.compile
    def between(bounds: Any) -> Any:
        first, last = bounds
        if run.remedied:
            return torch.arange(first.item(), last.item())
        return torch.arange(first, last)  # cause

    with config.patch(capture_scalar_outputs=True), contextlib.suppress(Exception):
        between(torch.tensor([2, 4]))


@case(
    "", "why-failed",
    cause=("Could not extract specialized integer", "UserError while tracing"),
    advice="take index_select(0, index)",
    counts=(0, 1),
)  # fmt: skip
def most_frequent_of_all(run: Run) -> None:
    @run.whole
    def mode(x: Any) -> Any:
        values, counts = torch.unique(x, return_counts=True)
        at = counts.argmax()
        return values.index_select(0, at) if run.remedied else values[at]  # cause

    with run.failing():
        mode(torch.tensor([1, 2, 2]))


@case(
    "", "why-failed",
    cause=(
        "Could not guard on data-dependent expression",
        "u0 is x.shape[0], which is marked by mark_unbacked",
    ),
    advice="with mark_dynamic instead, each side of the condition gets an entry",
    counts=(0, 1),
    never=("a number that comes from data",),
)  # fmt: skip
def decided_by_a_marked_size(run: Run) -> None:
    @run.whole
    def chosen(x: Any) -> Any:
        if x.shape[0] > 3:  # cause
            return x * 2
        return x + 1

    x = ones(5, 2)
    marks = torch._dynamo.decorators
    (marks.mark_dynamic if run.remedied else marks.mark_unbacked)(x, 0)
    with contextlib.suppress(Exception):
        chosen(x)


@case(
    "", "why-shape", expression="longest",
    cause=("longest is u0, a symbol, at", "u0 is made by CALL"),
    counts=(1, 1),
)  # fmt: skip
def longest_that_is_data(run: Run) -> None:
    with torch._dynamo.config.patch(capture_scalar_outputs=True):

        @run.compile
        def masked(lengths: Any) -> Any:
            longest = lengths.max().item()  # cause
            return torch.arange(longest) < lengths[:, None]

        masked(torch.tensor([2, 5]))


@case(
    "", "why-shape", expression="count.item()",
    cause=("count.item() is 4", "the tensor holds one number, which torch reads"),
    counts=(1, 1),
)  # fmt: skip
def number_that_a_tensor_holds(run: Run) -> None:
    with torch._dynamo.config.patch(capture_scalar_outputs=True):

        @run.compile
        def tiled(x: Any, count: Any) -> Any:
            rows = x.expand(count.item(), 4)
            assert rows.shape[0] == x.shape[0]  # cause
            return rows.sum()

        tiled(ones(4), torch.tensor(4))
