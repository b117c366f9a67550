"""Programs whose graphs break because something depends on the data of a tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


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
    "", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
)  # fmt: skip
def sizes_of_a_split(run: Run) -> None:
    @run.compile
    def parts(x: Any) -> Any:
        x = x * 2
        sizes = x[:2].int().tolist()  # cause
        first, _ = torch.split(x, sizes)
        return first.sum()

    with config.patch(capture_scalar_outputs=run.remedied):
        parts(ones(4))


@case(
    "", "why-break",
    cause="Tensor.tolist() with non-integer tensor",
    advice="keep the values a tensor",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def list_of_floats(run: Run) -> None:
    @run.compile
    def shifted(x: Any) -> Any:
        x = x * 2
        first = x[0] if run.remedied else x.tolist()[0]  # cause
        return x + first

    shifted(ones(4))


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="torch._assert_async",
    counts=(2, 1),
    never=("torch.where", "torch.cond for two"),
)  # fmt: skip
def raised_on_data(run: Run) -> None:
    @run.compile
    def checked(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            torch._assert_async(~x.isnan().any(), "not a number")
        elif x.isnan().any():  # cause
            raise ValueError(f"{x} is not a number")
        return x + 1

    checked(ones(4))


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="torch._assert_async",
    counts=(2, 1),
    never=("torch.cond for two",),
)  # fmt: skip
def asserted_on_data(run: Run) -> None:
    @run.compile
    def checked(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            torch._assert_async(x.sum() > 0, "it must be positive")
        else:
            assert x.sum() > 0, f"{x.sum()} must be positive"  # cause
        return x + 1

    checked(ones(4))


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="decide on tensors with torch.where",
    counts=(2, 1),
    never=("_assert_async",),
)  # fmt: skip
def decided_and_then_raised(run: Run) -> None:
    """It raises, too, but decides before that."""

    @run.compile
    def chosen(x: Any, name: str) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where(x.sum() > 0, x + 1, x - 1)
        if x.sum() > 0:  # cause
            x = x + 1
            if name == "":
                raise ValueError(name)
            return x
        return x - 1

    chosen(ones(4), "a")


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="how often the loop runs depends on data",
    counts=(3, 1),
    never=("torch.cond for two",),
)  # fmt: skip
def loop_until_large(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        if run.remedied:
            for _ in range(8):
                x = torch.where(x.sum() < 100, x * 2, x)
            return x + 1
        while x.sum() < 100:  # cause
            x = x * 2
        return x + 1

    doubled(ones(4))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="how often the loop runs depends on data",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def rounds_from_data(run: Run) -> None:
    """As a symbol the number breaks in range, too."""

    @run.compile
    def repeated(x: Any) -> Any:
        x = x * 2
        rounds = x.shape[0] if run.remedied else 0
        for _ in range(rounds or int(x[0])):  # cause
            x = x + 1
        return x

    repeated(ones(2))


@case(
    "", "why-break",
    cause="builtin operator `range`",
    advice="how often the loop runs depends on data",
    counts=(1, 1),
)  # fmt: skip
def counted_by_a_tensor(run: Run) -> None:
    """No setting helps: Dynamo never makes a number of what range is given."""

    @run.compile
    def added(x: Any, times: Any) -> Any:
        for _ in range(x.shape[0] if run.remedied else times):  # cause
            x = x + 1
        return x

    added(ones(2), torch.tensor(2))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="decide on tensors with torch.where",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def branch_on_an_item(run: Run) -> None:
    """As a symbol the number breaks at the branch, too."""

    @run.compile
    def clipped(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where(x.sum() > 0, x + 1, x)
        if x.sum().item() > 0:  # cause
            return x + 1
        return x

    clipped(ones(4))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
    never=("decide on tensors",),
)  # fmt: skip
def length_of_items(run: Run) -> None:
    @run.compile
    def counted(x: Any) -> Any:
        x = x * 2
        return x + len([each.item() for each in x])  # cause

    with config.patch(capture_scalar_outputs=run.remedied):
        counted(ones(4))


@case(
    "", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="use the function of torch instead of that of math",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def square_root_of_math(run: Run) -> None:
    @run.compile
    def scaled(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x / torch.sqrt(x.sum())
        return x / math.sqrt(x.sum())  # cause

    scaled(ones(4))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
    never=("instead of that of math",),
)  # fmt: skip
def square_root_of_an_item(run: Run) -> None:
    """It is the number that breaks, and not the function of math."""

    @run.compile
    def scaled(x: Any) -> Any:
        x = x * 2
        return x / math.sqrt(x.sum().item())  # cause

    with config.patch(capture_scalar_outputs=run.remedied):
        scaled(ones(4))


@case(
    "", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="draw it with torch.rand",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def drawn_by_numpy(run: Run) -> None:
    @run.compile
    def noisy(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x + torch.rand(())
        return x + np.random.rand()  # cause

    noisy(ones(4))


@case(
    "", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
    never=("draw it",),
)  # fmt: skip
def norm_of_numpy(run: Run) -> None:
    @run.compile
    def scaled(x: Any) -> Any:
        x = x * 2
        return x / float(np.linalg.norm(x))  # cause

    with config.patch(capture_scalar_outputs=run.remedied):
        scaled(ones(4))


@case(
    "", "why-break",
    cause="sort with non-constant keys",
    advice="torch.sort",
    counts=(2, 1),
)  # fmt: skip
def sorted_tensors(run: Run) -> None:
    @run.compile
    def smallest(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x + torch.sort(x[:2]).values[0]
        return x + sorted([x[0], x[1]])[0]  # cause

    smallest(ones(4))


@case(
    "", "why-break",
    cause="builtin operator `print`",
    advice="reorderable_logging_functions.add(print)",
    counts=(1, 1),
    never=("how often the loop runs",),
)  # fmt: skip
def printed_by_a_condition(run: Run) -> None:
    """The loop depends on no data."""
    if run.remedied:
        config.reorderable_logging_functions.add(print)

    @run.compile
    def doubled(x: Any) -> Any:
        x = x * 2
        rounds = 0
        while print("once") or rounds < 1:  # cause
            x = x * 2
            rounds += 1
        return x + 1

    doubled(ones(4))
    config.reorderable_logging_functions.discard(print)


@case(
    "", "why-break", cause="Data-dependent branching",
    advice="decide on tensors with torch.where",
    counts=(0, 1),
    never=("_assert_async",),
)  # fmt: skip
def raised_and_caught(run: Run) -> None:
    @run.compile
    def clipped(x: Any) -> Any:
        if run.remedied:
            return torch.where(x.sum() > 0, x * 2, x.relu())
        try:
            if x.sum() > 0:  # cause
                raise ValueError
        except ValueError:
            return x * 2
        return x.relu()

    clipped(ones(2))


@case(
    "", "why-break",
    cause=("Data dependent operator", "aten._local_scalar_dense"),
    advice="an index that is a tensor without dimensions is read as a number: take index_select",
    counts=(2, 1),
    never=("change: an index that is a tensor without dimensions is read as a number: take "
           "index_select(0, index), or keep a dimension in the index, [:1] in place of [0]; or",),
)  # fmt: skip
def index_without_dimensions(run: Run) -> None:
    """As in non-maximum suppression, and in the schedulers of diffusion models."""

    @run.compile
    def best(boxes: Any, order: Any) -> Any:
        first = order[0]
        if run.remedied:
            return boxes.index_select(0, first) * 2
        return boxes[first] * 2  # cause

    best(ones(6, 4), torch.arange(6))
