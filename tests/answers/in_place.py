"""Tensors that are written into or get another shape in place, out= tensors, and views of them."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-break",
    cause="inplace view on a graph input",
    advice="make a new tensor of that size, with torch.empty say, or do it before the call",
    counts=(1, 1),
    function="resized",
)  # fmt: skip
def resized_in_place(run: Run) -> None:
    @run.compile
    def resized(out: Any, x: Any) -> Any:
        if not run.remedied:
            out.resize_(x.shape[0])  # cause
        return out.copy_(x) * 2

    resized(ones(2) if run.remedied else torch.empty(0), ones(2))


@case(
    "", "why-break",
    cause="inplace view on a graph input",
    advice="the shape of an argument is changed in place",
    counts=(1, 1),
)  # fmt: skip
def shape_changed_in_place(run: Run) -> None:
    @run.compile
    def stacked(x: Any) -> Any:
        x = x.unsqueeze(0) if run.remedied else x.unsqueeze_(0)  # cause
        return x + 1

    stacked(ones(3))


@case(
    "", "why-break",
    cause="Shape mismatch with out= tensor variant",
    advice="hand over for out= a tensor that has the shape of the result already",
    counts=(1, 1),
)  # fmt: skip
def sum_into_an_empty_tensor(run: Run) -> None:
    kept = torch.empty(4 if run.remedied else 0)

    @run.compile
    def added(x: Any, y: Any) -> Any:
        torch.add(x, y, out=kept)  # cause
        return kept * 2

    added(ones(4), ones(4))


@case(
    "", "why-break",
    cause="Failed to mutate tensor data attribute to different dtype",
    advice="make a new tensor instead of assigning .data",
    counts=(2, 1),
)  # fmt: skip
def data_in_half_precision(run: Run) -> None:
    @run.compile
    def halved(x: Any) -> Any:
        y = x * 2
        if run.remedied:
            return y + x.half()
        x.data = y.half()  # cause
        return y + x

    halved(ones(4))


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
    "", "why-failed",
    cause=("Cannot view a tensor with shape", "while tracing"),
    advice="reshape in place of view",
    counts=(0, 1),
)  # fmt: skip
def viewed_when_transposed(run: Run) -> None:
    @run.compile
    def flat(x: Any) -> Any:
        turned = x.transpose(1, 2)
        return turned.reshape(2, -1) if run.remedied else turned.view(2, -1)  # cause

    with run.failing():
        flat(ones(2, 3, 4))


@case(
    "", "why-failed",
    cause=("in AOTAutograd", "AOTAutograd itself raised it, in "),
    advice="x is expanded, so that several of its elements are one place in memory, and "
    "tests/answers/in_place.py:",
    counts=(1, 1),
    never=("in the backend", "which node of the graph is to blame"),
)  # fmt: skip
def written_to_what_is_expanded(run: Run) -> None:
    @torch.compile(backend=run.traced_again)
    def first_row_cleared(x: Any) -> Any:
        x[torch.tensor([0])] = 0  # cause
        return x.sum()

    x = ones(3).expand(3, 3)
    with run.failing():
        first_row_cleared(x.clone() if run.remedied else x)


@case(
    "", "why-failed",
    cause=("in AOTAutograd", "AOTAutograd itself raised it, in ", "no node of the graph was being"),
    counts=(0, 1),
    never=("which node of the graph is to blame",),
)  # fmt: skip
def two_views_of_what_has_a_gradient(run: Run) -> None:
    backend = run if run.remedied else "aot_eager"

    @torch.compile(backend=backend)
    def written_to_both(left: Any, right: Any) -> Any:
        left.mul_(2)
        right.add_(1)
        return left + right

    whole = ones(4, requires_grad=True) * 1
    with contextlib.suppress(Exception):
        written_to_both(whole[:3], whole[1:])
