"""Programs of which an answer was wrong: advice that would have left as many graphs, a size blamed
for a stride, a setting that torch's own functions have no use for, or one said to be in vain."""

from __future__ import annotations

import contextlib
import enum
from typing import Any

import torch
from torch.nn import functional

from tests.answers.cases import Run, case

ones = torch.ones


class Kept(enum.Enum):
    """How much of a tensor is kept."""

    HALF = 1
    ALL = 4


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
    cause="keys of options changes: without 'causal', with 'causal'",
    advice="with the same for options['causal'], which is read",
    counts=(2, 1),
    never=("with None, say",),
)  # fmt: skip
def causal_in_one_call(run: Run) -> None:
    @run.compile
    def attended(x: Any, **options: Any) -> Any:
        if options.get("causal"):  # cause
            return x.tril() * 2
        return x * 2

    attended(ones(2, 2), **({"causal": True} if run.remedied else {}))
    attended(ones(2, 2), causal=True)


@case(
    "", "why-recompile",
    cause="length of options grows: 0, 1, 2",
    advice="give it the same keyword arguments in each call, with None, say",
    counts=(3, 1),
)  # fmt: skip
def options_that_are_only_counted(run: Run) -> None:
    @run.compile
    def as_many(x: Any, **options: Any) -> Any:
        return x + len(options)  # cause

    none = {"first": None, "second": None} if run.remedied else {}
    for given in ({}, {"first": 1}, {"first": 1, "second": 2}):
        as_many(ones(2), **(none | given))


@case(
    "pytorch#129798", "why-recompile",
    cause="x.stride()[0] == x.shape[1] does not hold  (1 of 3)",
    advice="torch._dynamo.mark_dynamic(x, 1) before the first call",
    counts=(4, 1),
    never=("x.shape[1] changes: x.stride()", "x.shape[1] differed"),
)  # fmt: skip
def batches_and_slices_of_wider_ones(run: Run) -> None:
    @run.compile
    def doubled_as_it_lies(x: Any) -> Any:
        return x * 2  # cause

    for size in (4, 5, 6):
        for x in (ones(size, size + 1), ones(size, 2 * size)[:, :size]):
            if run.remedied:
                x = x.contiguous()
                torch._dynamo.mark_dynamic(x, 0)
                torch._dynamo.mark_dynamic(x, 1)
            doubled_as_it_lies(x)


def _likelihood(x: Any, target: Any, variance: Any) -> Any:
    """What torch computes of that, without its check."""
    return (variance.log() + (x - target) ** 2 / variance).mean() / 2


@case(
    "pytorch#194503", "why-failed",
    cause="Could not guard on data-dependent expression",
    advice="torch's own gaussian_nll_loss decides by data whether to raise",
    counts=(0, 1),
    never=("torch.where", "torch._check"),
)  # fmt: skip
def variance_that_is_checked(run: Run) -> None:
    def checked(x: Any, variance: Any) -> Any:
        likelihood = _likelihood if run.remedied else functional.gaussian_nll_loss
        return likelihood(x * 2, x, variance) + 1  # cause

    with contextlib.suppress(torch._dynamo.exc.UserError):
        run.compile(checked, fullgraph=True)(ones(2), ones(2))


@case(
    "", "why-break",
    cause="Data dependent operator",
    advice="torch's own gaussian_nll_loss decides by data whether to raise",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def variance_that_breaks(run: Run) -> None:
    @run.compile
    def checked_in_the_middle(x: Any, variance: Any) -> Any:
        if run.remedied:
            return _likelihood(x * 2, x, variance) + 1
        return functional.gaussian_nll_loss(x * 2, x, variance) + 1  # cause

    checked_in_the_middle(ones(2), ones(2))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="Python itself takes the number, which is data (sum() of a tensor), and no setting",
    counts=(2, 1),
)  # fmt: skip
def summed_over_what_is_largest(run: Run) -> None:
    @run.compile
    def along(x: Any) -> Any:
        if run.remedied:
            return torch.where(x.argmax() > 0, x.sum(1), x.sum(0)) + 1
        return x.sum(dim=(x.argmax() + 0).item()) + 1  # cause

    along(ones(2, 2))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="torch._dynamo.config.capture_scalar_outputs = True",
    counts=(1, 1),
    never=("no setting helps",),
)  # fmt: skip
def summed_over_what_is_handed_over(run: Run) -> None:
    @run.compile
    def along_that(x: Any, dim: Any) -> Any:
        return (x * 2).sum(dim=dim.item()) + 1  # cause

    with torch._dynamo.config.patch(capture_scalar_outputs=run.remedied):
        along_that(ones(2, 2), torch.tensor(1))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="Python itself takes the number, which is data (an enum, as a value of it)",
    counts=(2, 1),
)  # fmt: skip
def member_found_by_an_item(run: Run) -> None:
    @run.compile
    def kept(x: Any) -> Any:
        if run.remedied:
            return torch.where(x.sum() > 2, x * 2, x)
        return x * (2 if Kept(x.int().sum().item()) is Kept.ALL else 1)  # cause

    kept(ones(4))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="Python itself takes the number, which is data (a text, by getattr())",
    counts=(2, 1),
)  # fmt: skip
def layer_by_a_text_of_an_item(run: Run) -> None:
    layers: Any = torch.nn.Module()
    layers.layer4 = torch.nn.ReLU()

    @run.compile
    def through_one(x: Any) -> Any:
        if run.remedied:
            return layers.layer4(x) * 2
        number = x.int().sum().item()
        return getattr(layers, f"layer{number}")(x) * 2  # names

    through_one(ones(4))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="Python itself takes the number, which is data (pow() with a modulus)",
    counts=(2, 1),
)  # fmt: skip
def power_with_a_modulus(run: Run) -> None:
    @run.compile
    def hashed(x: Any) -> Any:
        if run.remedied:
            return x + x.int().sum() ** 2 % 7
        return x + pow(x.int().sum().item(), 2, 7)  # cause

    hashed(ones(4))


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
