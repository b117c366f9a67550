"""Operators of whose results the shape is data: nonzero, masks as indices, unique,
repeat_interleave."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@case(
    "", "why-break",
    cause=("Dynamic shape operator", "aten.nonzero"),
    advice="a loop has as many rounds as elements come out, which is data",
    counts=(2, 1),
    never=("capture_dynamic_output_shape_ops = True",),
)  # fmt: skip
def rounds_for_each_that_is_kept(run: Run) -> None:
    @run.compile
    def added_by_place(x: Any) -> Any:
        if run.remedied:
            return torch.where(x > 0, x, 0).sum() * 2
        kept = x[x > 0]  # cause
        total = x.sum() * 0
        for at in range(kept.shape[0]):
            total = total + kept[at]
        return total * 2

    added_by_place(torch.tensor([1.0, -1.0, 2.0]))


@case(
    "", "why-break",
    cause=("Dynamic shape operator", "aten.nonzero"),
    advice="a loop has as many rounds as elements come out, which is data",
    counts=(1, 1),
    never=("capture_dynamic_output_shape_ops = True",),
)  # fmt: skip
def rows_that_were_found_one_by_one(run: Run) -> None:
    @run.compile
    def added_by_row(x: Any) -> Any:
        if run.remedied:
            return (x + (x != 0).sum()) * 2
        for row in x.nonzero():  # cause
            x = x + row.sum()
        return x * 2

    added_by_row(torch.tensor([1.0, -1.0, 2.0]))


@case(
    "", "why-break",
    cause="Dynamic shape operator",
    advice="capture_dynamic_output_shape_ops = True",
    counts=(1, 1),
    never=("as many rounds",),
)  # fmt: skip
def zeros_for_each_that_differs(run: Run) -> None:
    @run.compile
    def with_zeros(x: Any) -> Any:
        kinds = torch.unique(x)  # cause
        return torch.cat([x * 2, torch.zeros(kinds.shape[0])]), range(len(x))

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=run.remedied):
        with_zeros(ones(3))


@case(
    "pytorch#192343", "why-break",
    cause="aten.bincount.default",
    advice="capture_dynamic_output_shape_ops = True",
    counts=(2, 1),
)  # fmt: skip
def counted_bins(run: Run) -> None:
    config.capture_dynamic_output_shape_ops = run.remedied

    @run.compile
    def shares(labels: Any) -> Any:
        labels = labels + 1
        counts = torch.bincount(labels)  # cause
        return counts / counts.sum()

    shares(torch.tensor([0, 2, 2]))
    config.capture_dynamic_output_shape_ops = False


@case(
    "pytorch#114353", "why-break",
    cause="aten.linalg_lstsq.default",
    advice="call it outside of the compiled function",
    counts=(2, 1),
    never=("capture_dynamic_output_shape_ops",),
)  # fmt: skip
def least_squares(run: Run) -> None:
    """The setting for operators of this kind does not help: it breaks all the same."""
    known = torch.linalg.lstsq(torch.eye(2), torch.eye(2)).solution

    @run.compile
    def solved(a: Any, b: Any) -> Any:
        a = a * 2
        solution = known if run.remedied else torch.linalg.lstsq(a, b).solution  # cause
        return a + solution

    solved(torch.eye(2), torch.eye(2))


@case(
    "pytorch#122171", "why-break",
    cause=("one_hot", "data-dependent output shape"),
    advice="num_classes",
    counts=(2, 1),
)  # fmt: skip
def classes_that_are_not_given(run: Run) -> None:
    @run.compile
    def encoded(x: Any) -> Any:
        labels = x.argmax(dim=-1)
        known = 3 if run.remedied else -1
        return nn.functional.one_hot(labels, known) + 1  # cause

    encoded(ones(2, 3))


@case(
    "", "why-break",
    cause="aten.repeat_interleave.Tensor",
    advice="pass output_size",
    counts=(2, 1),
    never=("torch.where on the whole tensor",),
)  # fmt: skip
def repeated_by_a_tensor(run: Run) -> None:
    @run.compile
    def spread(x: Any, times: Any) -> Any:
        size = 6 if run.remedied else None
        return (x + 1).repeat_interleave(times, dim=0, output_size=size) * 2  # cause

    spread(ones(3, 2), torch.tensor([1, 2, 3]))


@case(
    "", "why-break",
    cause="aten.nonzero.default",
    advice="the program decides by how many elements come out, which is data",
    counts=(2, 1),
    never=("or, where the program decides nothing by the size",),
)  # fmt: skip
def decided_by_how_many(run: Run) -> None:
    """With the setting it breaks at the branch."""

    @run.compile
    def shifted(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where((x != 0).sum() > 3, x + 1, x - 1)
        found = x.nonzero()  # cause
        if found.shape[0] > 3:
            return x + 1
        return x - 1

    shifted(ones(4))


@case(
    "", "why-break",
    cause="Dynamic shape operator",
    advice="Python itself takes how many elements come out, which is data (to find an element",
    counts=(2, 1),
    never=("use torch.where on the whole tensor; or",),
)  # fmt: skip
def element_by_how_many_are_left(run: Run) -> None:
    @run.compile
    def found(x: Any, values: Any) -> Any:
        if run.remedied:
            at = (x > 0).sum()[None]
            return torch.stack(values).index_select(0, at)[0] + x
        left = x[x > 0]  # cause
        return values[left.numel()] + x

    found(ones(2), [ones(2) * number for number in range(4)])


@case(
    "", "why-break",
    cause=("Dynamic shape operator, then graph break in loop", "1 frame given up"),
    advice="the program decides by how many elements come out, which is data",
    counts=(0, 1),
    never=("use torch.where on the whole tensor; or",),
)  # fmt: skip
def experts_that_nothing_is_routed_to(run: Run) -> None:
    """The whole function is given up, so that nothing is recorded of what comes later in it."""

    @run.compile
    def routed(x: Any) -> Any:
        best = x.argmax(-1)
        out = torch.zeros_like(x)
        for expert in range(2):
            if run.remedied:
                out = torch.where((best == expert)[:, None], x * expert, out)
                continue
            chosen = (best == expert).nonzero().flatten()  # cause
            if chosen.numel() == 0:
                continue
            out[chosen] = x[chosen] * expert
        return out

    routed(torch.eye(2))


@case(
    "", "why-break",
    cause="Dynamic shape operator",
    advice="torch._dynamo.config.capture_dynamic_output_shape_ops = True alone only moves the",
    counts=(2, 1),
)  # fmt: skip
def found_and_then_printed(run: Run) -> None:
    if run.remedied:
        config.capture_dynamic_output_shape_ops = True

    @run.compile
    def picked(x: Any) -> Any:
        found = (x > 0).nonzero()  # cause
        if not run.remedied:
            print("found", found)
        return x[found] + 1

    picked(ones(3))


@case(
    "", "why-break",
    cause=("Data dependent operator", "then graph break in loop"),
    advice="compile one round of it, with the loop around that",
    counts=(0, 3),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def suppressed_boxes(run: Run) -> None:
    """With index_select in place of the index, the mask breaks in its place."""

    def apart(boxes: Any, order: Any) -> Any:
        return (boxes[order[1:]] - boxes[order[:1]]).abs().sum(1)

    measured = run.compile(apart) if run.remedied else apart

    def suppressed(boxes: Any, order: Any) -> Any:
        kept = []
        while order.numel() > 0:
            best = order[0]
            kept.append(best)
            if run.remedied:
                distances = measured(boxes, order)
            else:
                distances = (boxes[order[1:]] - boxes[best]).abs().sum(1)  # cause
            order = order[1:][distances > 0.5]
        return torch.stack(kept)

    boxes = torch.tensor([[0.0, 0], [0, 0.1], [3, 3], [9, 9]])
    (suppressed if run.remedied else run.compile(suppressed))(boxes, torch.arange(4))


@case(
    "pytorch#114220", "why-break",
    cause="aten.nonzero.default",
    advice="capture_dynamic_output_shape_ops = True",
    counts=(2, 1),
    never=("capture_scalar_outputs",),
)  # fmt: skip
def mask_as_index(run: Run) -> None:
    @run.compile
    def bright(image: Any) -> Any:
        image = image * 2
        chosen = image[image > 0.5]  # cause
        return chosen + 1

    with config.patch(capture_dynamic_output_shape_ops=run.remedied):
        bright(ones(4))


@case(
    "pytorch#165421", "why-break",
    cause="aten.masked_select.default",
    advice="use torch.where on the whole tensor",
    counts=(2, 1),
)  # fmt: skip
def masked_select(run: Run) -> None:
    @run.compile
    def total(x: Any) -> Any:
        mask = x.ge(0.5)
        if run.remedied:
            return torch.where(mask, x, 0).sum()
        return x.masked_select(mask).sum()  # cause

    total(ones(4))


@case(
    "pytorch#114353", "why-failed",
    cause=("Unsupported while tracing", "Dynamic shape operator (no meta kernel)"),
    advice="call it outside of the compiled function",
    counts=(0, 1),
)  # fmt: skip
def least_squares_in_one_graph(run: Run) -> None:
    """With the setting that Dynamo's hint names, which does not help."""
    known = torch.linalg.lstsq(torch.eye(2), torch.eye(2)).solution

    @run.whole
    def solved(a: Any, b: Any) -> Any:
        solution = known if run.remedied else torch.linalg.lstsq(a, b).solution  # cause
        return a + solution

    with (
        config.patch(capture_dynamic_output_shape_ops=True),
        contextlib.suppress(Exception),
    ):
        solved(torch.eye(2), torch.eye(2))
