"""Programs that torch.export does not take. With `strict=True` they fail when the frame has been
translated, and the function that is translated is one of torch's own."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn
from torch.export import Dim, export

from tests.answers.cases import Run, case

ones = torch.ones


def exported(
    run: Run,
    model: nn.Module,
    inputs: tuple[Any, ...],
    shapes: dict[str, Any],
    *,
    strict: bool = True,
) -> None:
    """Export, and count what comes out as a graph."""
    with contextlib.suppress(torch._dynamo.exc.UserError):
        export(model, inputs, dynamic_shapes=shapes, strict=strict)
        run.graphs += 1


@case(
    "pytorch#140011", "why-failed",
    cause=(
        "0/0 positions_of_one_length.<locals>.Embedded.forward: ConstraintViolationError",
        "tokens.shape[1] is 6: it was the symbol",
        "a symbol because the dynamic_shapes of torch.export say so",
        "requires Eq(s11, 6), by BINARY_OP +",
    ),
    advice="in dynamic_shapes None or Dim.AUTO in its place",
    counts=(0, 1),
    never=("mark_dynamic for it", "flat_args[0].size"),
)  # fmt: skip
def positions_of_one_length(run: Run) -> None:
    class Embedded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("positions", ones(6))

        def forward(self, tokens: Any) -> Any:
            return tokens.float() + self.positions  # cause

    length = Dim.AUTO if run.remedied else Dim("length")
    exported(run, Embedded(), (ones(2, 6),), {"tokens": {1: length}})


@case(
    "pytorch#133653", "why-failed",
    cause=(
        "ConstraintViolationError while building guards",
        "x.shape[0] is free within the conditions on it: the symbol s6, 2 or more",
        "y.shape[0] is s6 + 1: its symbol s27 was replaced",
        "requires Eq(s6, s27 - 1), by BINARY_OP +",
    ),
    advice="in dynamic_shapes what torch suggests",
    counts=(0, 1),
    never=("mark_dynamic for it",),
)  # fmt: skip
def one_shorter_than_the_other(run: Run) -> None:
    class Shifted(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y[1:]  # cause

    rows = Dim("rows")
    more = rows + 1 if run.remedied else Dim("more")
    exported(run, Shifted(), (ones(5), ones(6)), {"x": {0: rows}, "y": {0: more}})


@case(
    "", "why-failed",
    cause=("UserError in torch.export", "your code specialized it to be a constant (4)"),
    advice="in dynamic_shapes None or Dim.AUTO in its place",
    counts=(0, 1),
    never=("mark_dynamic for it",),
)  # fmt: skip
def run_by_the_export(run: Run) -> None:
    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weights", ones(4))

        def forward(self, x: Any) -> Any:
            return x * self.weights

    width = Dim.AUTO if run.remedied else Dim.DYNAMIC
    exported(run, Weighted(), (ones(2, 4),), {"x": {1: width}}, strict=False)


@case(
    "", "why-failed",
    cause="your code specialized it to be a constant (1)",
    advice="export it with an example input of which this size is 2 or more",
    counts=(0, 1),
)  # fmt: skip
def exported_with_one_example(run: Run) -> None:
    class Flattened(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.view(x.shape[0], -1) * 2

    x = ones(2 if run.remedied else 1, 2, 3)
    exported(run, Flattened(), (x,), {"x": {0: Dim("many")}}, strict=False)


@case(
    "pytorch#169488", "why-failed",
    cause="aten._sparse_addmm.default",
    advice="torch itself does not know what this operator of its own gives for these tensors",
    counts=(0, 1),
    never=("register_fake",),
)  # fmt: skip
def sparse_product(run: Run) -> None:
    class Product(nn.Module):
        def forward(self, a: Any, x: Any) -> Any:
            return a @ x if run.remedied else torch.sparse.mm(a, x)  # cause

    a = torch.eye(4) if run.remedied else torch.eye(4).to_sparse()
    shapes = {"a": None, "x": {1: torch.export.Dim("columns")}}
    with run.failing():
        exported(run, Product(), (a, ones(4, 2)), shapes)


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
