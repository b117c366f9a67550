"""Programs of a fourth sweep through public reports, on sizes and failures, of which an answer was
wrong, or left out what it could have said."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause=(
        "(x.size()[2] // 8)*(x.size()[2] // 8) == 16 does not hold",
        "//8))**2, 16), by POP_JUMP",
    ),
    advice="The entry requires (x.size()[2] // 8)*(x.size()[2] // 8) == 16",
    counts=(2, 1),
    never=("Ne(Mod(",),
    function="Embedded",
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
        "s77 is x.size()[0], 7 in this call",
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
    cause="x.shape is guarded: it must be [s77, 3], of which s77 is free",
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
