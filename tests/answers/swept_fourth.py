"""Programs of a fourth sweep through public reports, on sizes and failures, of which an answer was
wrong, or left out what it could have said."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.export import Dim

from tests.answers.cases import Run, case
from tests.answers.exports import exported

ones = torch.ones


@case(
    "", "why-recompile",
    cause=(
        "(x.shape[2] // 8)*(x.shape[2] // 8) == 16 does not hold",
        "//8))**2, 16), by POP_JUMP",
    ),
    advice="The entry requires (x.shape[2] // 8)*(x.shape[2] // 8) == 16",
    counts=(2, 1),
    never=("Ne(Mod(",),
    function="Embedded.forward",
)  # fmt: skip
def image_of_its_usual_size(run: Run) -> None:
    """As the vision transformers do that interpolate their positions."""

    class Embedded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.projection = nn.Conv2d(1, 2, 8, 8)
            self.out = nn.Linear(2, 2)
            self.positions = nn.Parameter(ones(1, 16, 2))

        def forward(self, x: Any) -> Any:
            patches = self.projection(x).flatten(2).transpose(1, 2)
            if not run.remedied and patches.shape[1] == self.positions.shape[1]:  # cause
                return self.out(patches + self.positions)
            return self.out(patches)

    embedded = run.compile(Embedded(), dynamic=True)
    for size in (32, 48):
        embedded(ones(1, 1, size, size))


@case(
    "", "why-failed",
    cause=(
        "The size of tensor a (((s77 + 1)//2)) must match the size of tensor b ((s77//2))",
        "s77 is x.shape[0], 7 in this call",
    ),
    counts=(1, 1),
)  # fmt: skip
def halves_of_an_odd_length(run: Run) -> None:
    def folded(x: Any) -> Any:
        half = x.shape[0] // 2
        first = x[::2][:half] if run.remedied else x[::2]
        return first + x[1::2]  # cause

    compiled = run.compile(folded, dynamic=True)
    for size in (6, 7):
        with run.failing():
            compiled(ones(size))


@case(
    "", "why-failed",
    cause=("no lowering for cos", "for the node cos", "in the backend"),
    counts=(0, 1),
    never=("is not recorded",),
)  # fmt: skip
def backend_that_knows_no_cosine(run: Run) -> None:
    def lowered(graph: Any, example_inputs: Any) -> Any:
        for node in graph.graph.nodes:
            if node.op == "call_method" or getattr(node.target, "__name__", "") == "cos":
                raise NotImplementedError(f"no lowering for {node.target.__name__}")
        return run(graph, example_inputs)

    @torch.compile(backend=lowered)
    def waves(x: Any) -> Any:
        y = torch.sin(x)
        return y if run.remedied else torch.cos(y)  # cause

    with run.failing():
        waves(ones(3))


@case(
    "", "why-failed",
    cause=("cannot call binary pointwise function", "while tracing"),
    advice="nested tensors go together only if they have their offsets in common, not equal ones",
    counts=(0, 1),
)  # fmt: skip
def ragged_of_equal_lengths(run: Run) -> None:
    def ragged(*lengths: int) -> Any:
        parts = [ones(length, 3) for length in lengths]
        return torch.nested.nested_tensor(parts, layout=torch.jagged)

    @run.compile
    def added(a: Any, b: Any) -> Any:
        return (a + b).sum()  # cause

    a = ragged(2, 3)
    b = ragged(2, 3)
    if run.remedied:
        b = torch.nested.nested_tensor_from_jagged(b.values(), offsets=a.offsets())
    with run.failing():
        added(a, b)


@case(
    "", "is-guarded", expression="x.shape",
    cause="x.shape is guarded: it must be [s77, 3], of which s77",
    counts=(2, 1),
)  # fmt: skip
def shape_of_which_one_size_is_free(run: Run) -> None:
    @run.compile
    def summed(x: Any) -> Any:
        return x.sum(0) * x.shape[0]

    for width in (3, 3 if run.remedied else 4):
        x = ones(4, width)
        torch._dynamo.mark_dynamic(x, 0)
        summed(x)


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
    cause=("vmap: We do not support batching operators that can support dynamic shape",),
    advice="torch.where on the whole tensor, in place of what picks some",
    counts=(0, 1),
)  # fmt: skip
def picked_in_each_row(run: Run) -> None:
    def of_a_row(row: Any) -> Any:
        if run.remedied:
            return torch.where(row > 0, row, 0).sum()
        return row[row > 0].sum()  # cause

    with run.failing():
        run.whole(lambda x: torch.vmap(of_a_row)(x))(ones(3, 2))


@case(
    "", "why-failed",
    cause=("Encountered input mutation", "swept_fourth.py"),
    advice="change nothing that the function is given",
    counts=(0, 1),
)  # fmt: skip
def counted_in_a_buffer(run: Run) -> None:
    """To blame is the line that writes, not that of torch.cond."""

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("times", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            def doubled(x: Any) -> Any:
                if not run.remedied:
                    self.times.add_(1)  # type: ignore[operator]  # cause
                return x * 2

            y = torch.cond(x.sum() > 0, doubled, lambda x: x - 1, (x,))
            return y + self.times

    with run.failing():
        run.whole(Counting())(ones(3))


@case(
    "", "why-failed",
    cause=("expected both a and b to be FakeTensor", "while tracing"),
    advice="let both functions return the same",
    counts=(0, 1),
)  # fmt: skip
def branch_that_returns_a_size(run: Run) -> None:
    def other(x: Any) -> Any:
        return x + 1 if run.remedied else x.shape[0]

    @run.whole
    def chosen(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x * 2, other, (x,))  # cause

    with run.failing():
        chosen(ones(3))


@case(
    "", "why-failed",
    cause=("UserError in torch.export", "L['b'].size()[0] = 5 is not equal to L['a'].size()[0]"),
    advice="a Dim for each, or example inputs of one size",
    counts=(0, 1),
)  # fmt: skip
def one_dim_for_two_sizes(run: Run) -> None:
    class Sums(nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return a.sum(0) + b.sum(0)

    rows = Dim("rows")
    shapes = {"a": {0: rows}, "b": {0: Dim("others") if run.remedied else rows}}
    exported(run, Sums(), (ones(4, 2), ones(5, 2)), shapes, strict=False)


@case(
    "", "why-failed",
    cause=("ConstraintViolationError in torch.export", "2 not in range [4, 8]"),
    advice="or give the Dim another min and max",
    counts=(0, 1),
)  # fmt: skip
def smaller_than_its_dim(run: Run) -> None:
    class Doubles(nn.Module):
        def forward(self, a: Any) -> Any:
            return a * 2

    rows = Dim("rows", min=2 if run.remedied else 4, max=8)
    with run.failing():
        exported(run, Doubles(), (ones(2, 3),), {"a": {0: rows}}, strict=False)
