"""Programs about sizes and about compilations that failed, of which an answer was wrong, or said
what did not help."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn
from torch.export import Dim

from tests.answers.cases import Run, case
from tests.answers.exports import exported

ones = torch.ones


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
    cause=("1 compilation failed", "16 not in range [4, 12]"),
    advice="a size of the example inputs is outside of its Dim's range",
    counts=(0, 1),
    never=("it ended",),
)  # fmt: skip
def exported_out_of_its_range(run: Run) -> None:
    class OutOfItsRange(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.sum(0)

    rows = {"x": {0: Dim("rows", min=4, max=12)}}
    exported(run, OutOfItsRange(), (ones(8 if run.remedied else 16, 2),), rows)


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
    "", "why-failed",
    cause="torch.cond: improper operands",
    advice="hand the operands over as a tuple",
    counts=(0, 1),
    never=("the line is a library's",),
)  # fmt: skip
def operand_by_itself(run: Run) -> None:
    @run.whole
    def chosen(x: Any) -> Any:
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,) if run.remedied else x)  # cause

    with contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "", "why-failed",
    cause="torch.cond: improper operands contents",
    advice="hand over tensors only: a function takes what else it needs from around it",
    counts=(0, 1),
)  # fmt: skip
def operand_of_ones_own(run: Run) -> None:
    class Scaled:
        by = ones(2)

    def grown(x: Any, scaled: Any) -> Any:
        return x * scaled.by

    def shrunk(x: Any, scaled: Any) -> Any:
        return x / scaled.by

    @run.whole
    def chosen(x: Any, scaled: Any) -> Any:
        sure = x.sum() > 0
        if run.remedied:
            return torch.cond(sure, lambda x: grown(x, scaled), lambda x: shrunk(x, scaled), (x,))
        return torch.cond(sure, grown, shrunk, (x, scaled))  # cause

    with contextlib.suppress(Exception):
        chosen(ones(2), Scaled())


@case(
    "", "why-failed",
    cause="HOP: non-callable variable",
    advice="hand over functions, not what they return",
    counts=(0, 1),
)  # fmt: skip
def branches_called_at_once(run: Run) -> None:
    @run.whole
    def chosen(x: Any) -> Any:
        if run.remedied:
            return torch.cond(x.sum() > 0, lambda: x.sin(), lambda: x.cos(), ())
        return torch.cond(x.sum() > 0, x.sin(), x.cos(), ())  # cause

    with contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "", "why-failed",
    cause="torch.cond: unsupported branch return type (constant non-int)",
    advice="return tensors, whole numbers or bools only",
    counts=(0, 1),
)  # fmt: skip
def branches_that_return_nothing_beside(run: Run) -> None:
    nothing = 0 if run.remedied else None

    @run.whole
    def chosen(x: Any) -> Any:
        return torch.cond(  # cause
            x.sum() > 0, lambda x: (x.sin(), nothing), lambda x: (x.cos(), nothing), (x,)
        )

    with contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "", "why-failed",
    cause="calling .item() on a Tensor",
    advice="under torch.vmap a tensor has no number: keep it a tensor, without .item()",
    counts=(0, 1),
)  # fmt: skip
def number_of_each_that_is_mapped(run: Run) -> None:
    def scaled(x: Any, by: Any) -> Any:
        return x * (by if run.remedied else by.item())  # cause

    @run.whole
    def each_scaled(x: Any, by: Any) -> Any:
        return torch.vmap(scaled)(x, by)

    with contextlib.suppress(Exception):
        each_scaled(ones(3, 4), torch.arange(3))


@case(
    "", "why-shape", expression="longest",
    cause=("longest is 6, a number, at", "longest is Max(", "is parts[0].shape[0]"),
    counts=(2, 2),
)  # fmt: skip
def longest_that_an_inner_function_has(run: Run) -> None:
    """Up to CPython 3.11 a comprehension is a function inside, and what it has is in a cell."""

    def collated(parts: Any) -> Any:
        longest = max(len(part) for part in parts)
        return [torch.nn.functional.pad(part, (0, longest - len(part))) for part in parts]

    @run.compile
    def stacked(parts: Any) -> Any:
        return torch.stack(collated(parts))

    for sizes in ((6, 5), (4, 3), (3, 7)):
        stacked([ones(size) for size in sizes])


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


@case(
    "", "why-failed",
    cause=("BackendCompilerFailed in the backend", "did not return callable"),
    advice="let the backend return what runs the graph: gm.forward",
    counts=(0, 1),
)  # fmt: skip
def backend_that_returns_nothing(run: Run) -> None:
    def noted(graph: Any, inputs: Any) -> Any:
        return run(graph, inputs) if run.remedied else None

    @torch.compile(backend=noted)
    def doubled(x: Any) -> Any:
        return x * 2

    with run.failing():
        doubled(ones(2))


@case(
    "", "why-recompile",
    cause="logits.shape[0] grows: 2, 3, 4",
    advice="needs its value to go through a tensor row by row, which is unrolled",
    counts=(3, 1),
)  # fmt: skip
def rows_that_are_zipped(run: Run) -> None:
    def weighted(logits: Any, weights: Any) -> Any:
        if run.remedied:
            return (logits * weights[:, None]).sum(0)
        return sum(row * weight for row, weight in zip(logits, weights, strict=True))  # cause

    compiled = run.compile(weighted, dynamic=True)
    for rows in (2, 3, 4):
        compiled(ones(rows, 5), ones(rows))


@case(
    "", "why-recompile",
    cause=("image.shape[0] changes: 8, 12", "image.shape[1] changes: 8, 12"),
    advice="8 takes an entry of its own all the same",
    counts=(2, 1),
    never=("mark_dynamic",),
)  # fmt: skip
def side_at_which_nothing_is_done(run: Run) -> None:
    """Marked, the second size would be asked for in the first entry, too."""

    @run.compile
    def resized(image: Any) -> Any:
        height, width = image.shape  # cause
        if height == 8 and width == 8:
            return image * 2
        return image * height

    for side in (12 if run.remedied else 8, 12):
        resized(ones(side, side))


@case(
    "", "why-failed",
    cause=("UserError while tracing", "raised in"),
    advice=(
        "asks for the number, which runs while the operator is traced: if that is the operator's "
        "fake, take torch.library.get_ctx().new_dynamic_size() for it"
    ),
    never=("the line is a library's",),
    counts=(0, 1),
)  # fmt: skip
def fake_that_asks_its_data(run: Run) -> None:
    @torch.library.custom_op("answers::expanded", mutates_args=())
    def expanded(counts: torch.Tensor) -> torch.Tensor:
        return torch.repeat_interleave(torch.arange(len(counts)), counts)

    @expanded.register_fake
    def _(counts: torch.Tensor) -> torch.Tensor:
        if run.remedied:
            return counts.new_empty(torch.library.get_ctx().new_dynamic_size())
        return counts.new_empty(int(counts.sum()))

    def regulated(x: Any, counts: Any) -> Any:
        return x[expanded(counts)]  # cause

    compiled = run.compile(regulated, fullgraph=True)
    with run.failing():
        compiled(ones(3, 2), torch.tensor([1, 2, 3]))
