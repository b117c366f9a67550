"""Programs of a twenty-third sweep: what is patched in, parametrized, opened, or comes later."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn, ones

from tests.answers.cases import Run, case


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
    cause="ids.shape[0] changes: 2, 3, and of 1 other",
    advice=(
        "torch._dynamo.mark_dynamic(ids, 0), and likewise of mask; "
        "torch._dynamo.mark_dynamic(ids, 1), and likewise of mask"
    ),
    counts=(2, 1),
)  # fmt: skip
def two_sizes_of_ids_and_their_mask(run: Run) -> None:
    """Marks on one of them alone are refused: the other has the same sizes."""

    @run.compile
    def masked(ids: Any, mask: Any) -> Any:
        return (ids * mask).sum()  # cause

    for size in ((2, 5), (3, 9)):
        ids, mask = ones(size), ones(size)
        for given in (ids, mask) if run.remedied else ():
            torch._dynamo.mark_dynamic(given, 0)
            torch._dynamo.mark_dynamic(given, 1)
        masked(ids, mask)


@case(
    "", "why-recompile",
    cause="type of layer changes: torch.nn.modules.linear.Linear, ParametrizedLinear",
    advice="ParametrizedLinear is what torch.nn.utils.parametrize, and weight_norm by it, calls",
    counts=(2, 1),
    never=("of one type",),
)  # fmt: skip
def weight_normalized_later(run: Run) -> None:
    layer = nn.Linear(3, 3)

    @run.compile
    def through(x: Any) -> Any:
        return layer(x)  # cause

    if run.remedied:
        torch.nn.utils.parametrizations.weight_norm(layer)
    through(ones(2, 3))
    if not run.remedied:
        torch.nn.utils.parametrizations.weight_norm(layer)
    through(ones(2, 3))


@case(
    "ComfyUI#9289", "why-recompile",
    cause="weight.patches[0][1] changes: 'a', 'bb', 'ccc'",
    advice="Each value of weight.patches[0][1] is compiled by itself",
    counts=(3, 1),
)  # fmt: skip
def patches_of_each_weight(run: Run) -> None:
    @run.compile
    def patched(x: Any, weight: Any) -> Any:
        for _, key in weight.patches:
            x = x * len(key)  # cause
        return x * weight

    for key in ("a", "bb", "ccc"):
        weight = nn.Parameter(ones(3))
        weight.patches = [("lora", "a" if run.remedied else key)]  # type: ignore[attr-defined]  # as the program has it
        patched(ones(3), weight)


@case(
    "", "why-break",
    cause="`TextIOWrapper` context manager",
    advice="read or write files outside of the compiled function",
    counts=(0, 1),
    never=("enter it around the call",),
)  # fmt: skip
def file_that_is_read_inside(run: Run) -> None:
    @run.compile
    def scaled_by_a_file(x: Any, size: int) -> Any:
        if not size:
            with open(__file__) as file:  # cause
                size = len(file.read())
        return x * size

    scaled_by_a_file(ones(3), 3 if run.remedied else 0)


class Image:
    """What is no sequence."""


@case(
    "pytorch#121505", "why-failed",
    cause="TypeError: 'Image' object is not iterable",
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def image_that_is_no_list(run: Run) -> None:
    @run.whole
    def counted(x: Any, images: Any) -> Any:
        for _ in images:  # cause
            x = x + 1
        return x

    with run.failing():
        counted(ones(3), [Image()] if run.remedied else Image())


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is 7, a number", "that is not compiled, but given up: why-break says why"),
    counts=(0, 1),
)  # fmt: skip
def number_in_a_frame_that_is_skipped(run: Run) -> None:
    """What a frame had of a size is no answer by itself where no entry was made of it."""

    @run.compile
    def skipped_over(x: Any) -> Any:
        size = x.shape[0]
        if not run.remedied:
            torch._dynamo.skip_frame("for the bench")  # cause
        return x * size

    skipped_over(ones(7))
