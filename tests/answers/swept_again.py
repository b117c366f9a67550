"""Programs of a second sweep through public reports, of which an answer was wrong or said too
little."""

from __future__ import annotations

import collections
import contextlib
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-break",
    cause=("Observed exception", "object of type 'str' has no len()"),
    advice="a text with a tensor or another object in it is none while it is translated",
    counts=(0, 1),
    never=("handle what raises",),
)  # fmt: skip
def text_of_a_tensor(run: Run) -> None:
    """The program raises nothing: Dynamo has no more than the parts of the text."""

    @run.compile
    def by_its_text(x: Any, length: int) -> Any:
        return x * (length if run.remedied else len(f"{x}"))  # cause

    x = ones(2)
    by_its_text(x, len(f"{x}"))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="torch.vmap has no number for one of its calls",
    counts=(0, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def item_in_vmap(run: Run) -> None:
    """Torch itself does not know the number."""

    def weighed(x: Any) -> Any:
        total = x.sum()
        return x * (total if run.remedied else total.item())  # cause

    @run.compile
    def each_weighed(x: Any) -> Any:
        return torch.vmap(weighed)(x)

    with contextlib.suppress(RuntimeError):
        each_weighed(ones(3, 2))


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
    "", "why-recompile",
    cause=("self.probability changes: 0.1, 0.2, 0.3", "requires Eq(zf", ", 0.2), by"),
    advice="self.probability is a symbol until",
    counts=(3, 1),
    never=(">= 0.0", "<= 1.0"),
)  # fmt: skip
def dropout_that_is_scheduled(run: Run) -> None:
    class Dropping(nn.Module):
        probability = 0.0

        def forward(self, x: Any) -> Any:
            if run.remedied:
                return x * 2
            return nn.functional.dropout(x, self.probability, self.training)  # cause

    dropping = Dropping()
    compiled = run.compile(dropping)
    for probability in (0.1, 0.2, 0.3):
        dropping.probability = probability
        compiled(ones(4) + 1)


@case(
    "", "why-recompile",
    cause="requires Eq(Mod(8 - (Mod(",
    advice="keep the calls on one side of it, or do without what asks",
    counts=(2, 1),
    never=("fails: (x.shape[1] // 8) != x.shape[1], with 13",),
)  # fmt: skip
def padded_to_a_multiple(run: Run) -> None:
    """Five more conditions on the same size come from the last line, and the first fails."""

    def padded(x: Any) -> Any:
        size = x.shape[1]
        missing = (8 - size % 8) % 8
        if run.remedied or missing:  # cause
            x = nn.functional.pad(x, (0, missing))
        return x.view(x.shape[0], -1, 8)

    compiled = run.compile(padded, dynamic=True)
    for size in (16, 13, 24):
        compiled(ones(2, size))


@case(
    "pytorch#160271", "why-recompile",
    cause=("t.shape[0] changes: 1, 2", "stride[0] of guidance: expected 1, actual 0"),
    advice="hand over guidance.contiguous()",
    counts=(2, 1),
)  # fmt: skip
def guidance_that_is_expanded(run: Run) -> None:
    """The marks alone do not help: an expanded tensor has a stride of 0."""

    @run.compile
    def guided(guidance: Any, t: Any) -> Any:
        return guidance * t  # cause

    for images in (1, 2, 3):
        guidance, t = torch.full((1,), 3.5).expand(images), ones(images)
        if run.remedied:
            guidance = guidance.contiguous()
            torch._dynamo.decorators.mark_unbacked(guidance, 0)
            torch._dynamo.decorators.mark_unbacked(t, 0)
        guided(guidance, t)


@case(
    "", "is-guarded",
    expression="Factored.factor",
    cause="Factored.factor is guarded: it must be 2",
    counts=(2, 1),
)  # fmt: skip
def attribute_of_a_class_by_its_name(run: Run) -> None:
    class Factored:
        factor = 2

    @run.compile
    def multiplied(x: Any, factored: Any) -> Any:
        return x * factored.factor

    multiplied(ones(2), Factored())
    if not run.remedied:
        Factored.factor = 3
    multiplied(ones(2), Factored())


@case(
    "", "is-guarded",
    expression="plan.depth",
    cause=("that a class derived from that gets its own is not seen", "it must be 2"),
    counts=(1, 1),
)  # fmt: skip
def attribute_that_hides_its_base_class(run: Run) -> None:
    """Torch looks at the base class alone, and gives the old result."""

    class Plan:
        depth = 2

    class DeepPlan(Plan):
        pass

    @run.compile
    def as_deep(x: Any, plan: Any) -> Any:
        return x * plan.depth

    as_deep(ones(2), DeepPlan())
    if not run.remedied:
        DeepPlan.depth = 3
    as_deep(ones(2), DeepPlan())


@case(
    "", "why-recompile",
    cause=("self.known[2] changes: 8, 12, and of 1 other", "x.shape[2] changes: 8, 12"),
    advice="self.known, which self.known[2] is a part of, is set by the compiled function itself",
    counts=(5, 2),
    never=("mark_dynamic(x, 2)",),
    function="Detector",
)  # fmt: skip
def shape_that_is_kept(run: Run) -> None:
    """Where the sizes are the same as before, the comparison needs their values."""

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.known: Any = None
            self.anchors = torch.empty(0)

        def forward(self, x: Any) -> Any:
            if run.remedied:
                return x.flatten(2) + torch.arange(x.shape[2] * x.shape[3])
            if self.known != x.shape:  # cause
                self.anchors = torch.arange(x.shape[2] * x.shape[3])
                self.known = x.shape
            return x.flatten(2) + self.anchors

    detect = run.compile(Detector())
    for size in (8, 8, 12, 12, 16):
        detect(ones(1, 3, size, size))


@case(
    "", "why-recompile",
    cause="self.counts['calls'] grows: 1, 2, 3",
    advice="An int that belongs to an nn.Module is a constant of the graph",
    counts=(4, 1),
)  # fmt: skip
def counts_by_name(run: Run) -> None:
    """That nothing was counted before the first call is one entry, and not why there are more."""

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.counts: Any = collections.defaultdict(int)

        def forward(self, x: Any) -> Any:
            if not run.remedied:
                self.counts["calls"] += 1  # cause
            return x * 2

    count = run.compile(Counting())
    for _ in range(4):
        count(ones(2))


@case(
    "", "why-break",
    cause="BUILD_STRING type error",
    advice="make the text outside of the compiled function",
    counts=(2, 1),
)  # fmt: skip
def text_with_a_symbol(run: Run) -> None:
    @run.compile
    def step(x: Any, at: int, name: str) -> Any:
        loss = x.square().mean()
        return loss, name if run.remedied else f"{loss:.3f} at {at}"  # cause

    for at in (3, 4, 5):
        step(ones(4), at, "loss")


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
