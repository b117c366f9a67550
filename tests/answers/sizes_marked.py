"""Marks on sizes: that save an entry, that are refused, that come late. And sizes of which Dynamo
makes symbols by itself, where a mark does it from the first call on."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause=("Bilinear, inner of wrap_inline", "input1.shape[0] changes: 2, 3"),
    advice="mark_dynamic(input1, 0)",
    counts=(2, 1),
    function="Bilinear",
    never=("args[",),
)  # fmt: skip
def layer_of_torch_by_itself(run: Run) -> None:
    layer = run.compile(nn.Bilinear(3, 3, 3), dynamic=True if run.remedied else None)
    for count in (2, 3):
        layer(ones(count, 3), ones(count, 3))


@case(
    "pytorch#149743", "why-recompile",
    cause="DIMENSION_DYNAMIC_MARKING_GUARD L['x']",
    advice="Mark the dimensions of x before the first call",
    counts=(2, 1),
)  # fmt: skip
def marks_that_come_later(run: Run) -> None:
    def plus_one(x: Any) -> Any:
        return x + 1  # cause

    compiled = run.compile(plus_one, dynamic=True)
    x = ones(10, 10)
    for marked in (run.remedied, True):
        if marked:
            torch._dynamo.mark_dynamic(x, [0, 1])
        compiled(x)


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 3, 4",
    advice="torch._dynamo.mark_dynamic(x, 0) before the first call, or torch.compile(dynamic=True)",
    counts=(2, 1),
    never=("sets itself",),
)  # fmt: skip
def argument_that_a_function_inside_uses(run: Run) -> None:
    """It is in a cell, where the function puts another: the next call has a cell of its own."""

    @run.compile
    def summed(x: Any) -> Any:
        def total() -> Any:
            return x.sum()

        x = x * 2  # cause
        return total()

    for size in (3, 4, 5):
        given = ones(size)
        if run.remedied:
            torch._dynamo.mark_dynamic(given, 0)
        summed(given)


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="leave the mark out, or outweigh it by torch._dynamo.mark_dynamic(x, 0)",
    counts=(3, 1),
)  # fmt: skip
def marked_static(run: Run) -> None:
    @run.compile
    def minus_one(x: Any) -> Any:
        return x - 1  # cause

    for size in (3, 4, 5):
        x = ones(size)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        else:
            torch._dynamo.mark_static(x, 0)
        minus_one(x)


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 16, 7",
    advice="torch._dynamo.mark_dynamic(x, 0)",
    counts=(2, 1),
)  # fmt: skip
def last_batch(run: Run) -> None:
    @run.compile
    def of_a_batch(x: Any) -> Any:
        return x.sum(0)  # cause

    data = torch.utils.data.TensorDataset(ones(39, 2))
    for (x,) in torch.utils.data.DataLoader(data, batch_size=16, drop_last=run.remedied):
        of_a_batch(x)


@case(
    "", "why-failed",
    cause="16 not in range [4, 12]",
    advice="give mark_dynamic another min and max",
    counts=(1, 1),
    never=("Dim",),
)  # fmt: skip
def longer_than_it_is_marked(run: Run) -> None:
    @run.compile
    def summed(x: Any) -> Any:
        return x.sum(1) + x.shape[1]  # cause

    for size in (8, 16):
        x = ones(2, size)
        torch._dynamo.mark_dynamic(x, 1, min=4, max=16 if run.remedied else 12)
        with run.failing():
            summed(x)


@case(
    "", "why-failed",
    cause=("h.shape[0] is 16", "m.shape[0] is 16"),
    advice="do without mark_dynamic for it",
    counts=(1, 1),
    never=("or mark m", "or mark h"),
)  # fmt: skip
def marked_and_met_by_a_bias(run: Run) -> None:
    """That the two marked ones are equal does not make them a number."""
    bias = ones(16)

    @run.compile
    def scored(h: Any, m: Any) -> Any:
        both = h + m
        return both.sum(-1) + bias  # cause

    h, m = ones(16, 4), ones(16, 4)
    mark = torch._dynamo.maybe_mark_dynamic if run.remedied else torch._dynamo.mark_dynamic
    for each in (h, m):
        mark(each, 0)
    with run.failing():
        scored(h, m)


@case(
    "pytorch#141034", "why-failed",
    cause=("ConstraintViolationError while building guards", "labels.shape[0] is 4"),
    advice="torch._dynamo.maybe_mark_dynamic",
    counts=(1, 1),
)  # fmt: skip
def marked_labels(run: Run) -> None:
    @run.compile
    def loss(logits: Any, labels: Any) -> Any:
        return nn.functional.cross_entropy(logits, labels)  # cause

    labels = torch.tensor([0, 1, 2, 0])
    mark = torch._dynamo.maybe_mark_dynamic if run.remedied else torch._dynamo.mark_dynamic
    mark(labels, 0)
    with contextlib.suppress(Exception):
        loss(ones(4, 3), labels)


@case(
    "pytorch#122307", "why-failed",
    cause=("ConstraintViolationError while building guards", "x.shape[0] is 5"),
    advice="do without mark_dynamic for it",
    counts=(1, 1),
)  # fmt: skip
def marked_and_bounded_from_both_sides(run: Run) -> None:
    @run.compile
    def shaped(x: Any) -> Any:
        if x.shape[0] > 5:
            return x.cos()
        if x.shape[0] < 5:  # cause
            return x * 2
        return x.sin()

    x = ones(5, 3)
    if not run.remedied:
        torch._dynamo.mark_dynamic(x, 0)
    with contextlib.suppress(Exception):
        shaped(x)


@case(
    "pytorch#171860", "why-failed",
    cause="Attempt to trace forbidden callable",
    advice="call it before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def marked_inside(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        if not run.remedied:
            torch._dynamo.mark_dynamic(x, 0)  # cause
        return x * 2

    x = ones(4)
    if run.remedied:
        torch._dynamo.mark_dynamic(x, 0)
    with contextlib.suppress(Exception):
        doubled(x)


@case(
    "", "why-failed",
    cause=("ConstraintViolationError while building guards", "requires s77 <= 6, by POP_JUMP"),
    advice="only: torch._dynamo.mark_dynamic(x, 0, min=2, max=6)",
    counts=(1, 1),
)  # fmt: skip
def marked_for_more_than_it_does(run: Run) -> None:
    @run.compile
    def waves(x: Any) -> Any:
        return x.sin() if x.shape[0] > 6 else x.cos()  # cause

    x = ones(4)
    torch._dynamo.mark_dynamic(x, 0, min=2, max=6 if run.remedied else 8)
    with run.failing():
        waves(x)


@case(
    "pytorch#123596", "why-failed",
    cause=("a.shape[0] is 3: it was the symbol s", "was fixed"),
    advice="mark kept as well, which has this size as a number there; or do without mark_dynamic",
    counts=(1, 1),
)  # fmt: skip
def marked_and_closed_over(run: Run) -> None:
    a = ones(3, 3)
    torch._dynamo.mark_dynamic(a, 0)
    kept = a * 2
    if run.remedied:
        torch._dynamo.mark_dynamic(kept, 0)

    @run.compile
    def added_to_kept(a: Any) -> Any:
        return a + kept  # cause

    with run.failing():
        added_to_kept(a)


@case(
    "pytorch#141034", "why-failed",
    cause=("ConstraintViolationError while building guards", "labels.shape[0] is 6"),
    advice="mark logits as well, which has this size as a number there; or do without mark_dynamic",
    counts=(1, 1),
)  # fmt: skip
def labels_marked_alone(run: Run) -> None:
    """What meets the labels is made of another input, which is not marked."""

    @run.compile
    def lost(logits: Any, labels: Any) -> Any:
        return F.cross_entropy(logits.float(), labels)  # cause

    logits, labels = ones(6, 3), torch.zeros(6, dtype=torch.long)
    torch._dynamo.mark_dynamic(labels, 0)
    if run.remedied:
        torch._dynamo.mark_dynamic(logits, 0)
    with contextlib.suppress(Exception):
        lost(logits, labels)


@case(
    "pytorch#147219", "why-shape", expression="weight.shape[0]",
    cause="weight.shape[0] never was a symbol: TENSOR_MATCH requires 4",
    counts=(2, 1),
    never=("is free", "marked by mark_dynamic"),
)  # fmt: skip
def parameter_that_is_marked(run: Run) -> None:
    torch._dynamo.config.force_parameter_static_shapes = not run.remedied

    @run.compile
    def halved(weight: Any) -> Any:
        return weight / 2

    for size in (4, 6):
        weight = nn.Parameter(ones(size))
        torch._dynamo.mark_dynamic(weight, 0)
        halved(weight)


@case(
    "", "is-guarded", expression="rows.shape[0]",
    cause="rows.shape[0] is guarded: it must be 3, since it is marked as static",
    counts=(2, 1),
    never=("a size of 0 or 1",),
)  # fmt: skip
def rows_that_are_marked_as_static(run: Run) -> None:
    def doubled_static(rows: Any) -> Any:
        return rows * 2

    compiled = run.compile(doubled_static, dynamic=True)
    first = ones(3, 4)
    torch._dynamo.mark_static(first, 0)
    compiled(first)
    compiled(first if run.remedied else ones(5, 4))
