"""Programs of a fifteenth sweep: of what is done with a number that comes from data, and others."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn, ones, zeros
from torch._dynamo import config

from tests.answers.cases import Run, case

TABLE = [1.0, 2.0, 3.0]
STACKED = torch.tensor(TABLE)


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="sort that with torch.argsort",
    counts=(2, 1),
    never=("change: keep the value a tensor; or",),
)  # fmt: skip
def sorted_by_an_item(run: Run) -> None:
    """With the setting it breaks in sorted(), which takes constants for keys only."""

    @run.compile
    def smallest_first(rows: Any) -> Any:
        if run.remedied:
            return rows[torch.argsort(rows.sum(1))] + 1
        return torch.stack(sorted(rows, key=lambda row: row.sum().item())) + 1  # cause

    smallest_first(torch.stack([ones(2), zeros(2)]) if run.remedied else [ones(2), zeros(2)])


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="Python finds an element by the number, which is data, and no setting helps",
    counts=(2, 1),
    never=("change: keep the value a tensor; or",),
)  # fmt: skip
def layer_found_by_an_item(run: Run) -> None:
    """With the setting it fails: a list has no element at a symbol that comes from data."""

    @run.compile
    def routed(x: Any, weights: Any) -> Any:
        best = x.argmax()
        if run.remedied:
            return x * torch.index_select(weights, 0, best)
        return x * weights[best.item()]  # cause

    weights = ones(3, 3)
    routed(torch.arange(3.0), weights if run.remedied else list(weights))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="keep the value a tensor; or, where the program decides nothing by it",
    counts=(2, 1),
    never=("Python finds an element", "Python sorts"),
)  # fmt: skip
def row_found_by_an_item(run: Run) -> None:
    """A tensor has an element at a symbol."""
    torch._dynamo.config.capture_scalar_outputs = run.remedied

    @run.compile
    def row_of(x: Any, rows: Any) -> Any:
        return x * rows[x.argmax().item()]  # cause

    row_of(torch.arange(3.0), ones(3, 3))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="keep the value a tensor; or, where the program decides nothing by it",
    counts=(3, 1),
    never=("Python finds an element", "Python sorts"),
)  # fmt: skip
def items_of_a_map(run: Run) -> None:
    """A function that only says what to make of each is no order."""
    torch._dynamo.config.capture_scalar_outputs = run.remedied

    @run.compile
    def totalled(rows: Any) -> Any:
        return ones(2) * sum(map(lambda row: row.sum().item(), rows))  # noqa: C417  # cause

    totalled([ones(2), zeros(2)])


@case(
    "", "why-break",
    cause="Unsupported Tensor.backward() call",
    advice="as long as no tensor that it goes through is returned",
    counts=(2, 1),
)  # fmt: skip
def backward_of_a_loss_that_is_detached(run: Run) -> None:
    """With the setting alone it would break where the loss is returned as it is."""
    layer = nn.Linear(2, 1)

    @run.compile
    def learned(x: Any) -> Any:
        loss = layer(x).sum()
        loss.backward()  # cause
        return (loss.detach() if run.remedied else loss) + 1

    with config.patch(trace_autograd_ops=run.remedied):
        learned(ones(2, 2))


@case(
    "", "why-recompile",
    cause="self.theta changes",
    advice="look it up outside of the compiled function, and hand over what is found",
    counts=(4, 1),
    never=("(would fail too)",),
)  # fmt: skip
def row_found_by_a_float(run: Run) -> None:
    """Where a float was a symbol, torch guards twice on its value, word for word."""
    table = {float(at): ones(2) * at for at in range(4)}

    class Layer(nn.Module):
        def __init__(self, theta: float) -> None:
            super().__init__()
            self.theta = theta
            self.row = table[theta]

        def forward(self, x: Any) -> Any:
            return x + (self.row if run.remedied else table[self.theta])  # cause

    for theta in table:
        run.compile(Layer(theta))(ones(2))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="Python itself takes the number, which is data (add() of a set), and no setting helps",
    counts=(2, 1),
    never=("change: keep the value a tensor; or",),
)  # fmt: skip
def item_in_a_set(run: Run) -> None:
    """With the setting it breaks at the set, which asks the symbol for its hash."""
    seen = set[int]()

    @run.compile
    def noted(x: Any) -> Any:
        total = x.int().sum()
        if run.remedied:
            return x + 1, total
        number = total.item()  # cause
        seen.add(number)
        return x + 1

    found = noted(ones(4))
    if run.remedied:
        seen.add(found[1].item())


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="(math.exp()), and no setting helps: use a function of torch's on the tensor",
    counts=(2, 1),
    never=("change: keep the value a tensor; or",),
)  # fmt: skip
def exponential_of_an_item(run: Run) -> None:
    """Of the functions of math torch has only some for symbols."""

    @run.compile
    def scaled(x: Any) -> Any:
        total = x.sum()
        return x * (torch.exp(total) if run.remedied else math.exp(total.item()))  # cause

    scaled(ones(4))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="Python finds an element by the number, which is data, and no setting helps",
    counts=(2, 1),
    never=("change: keep the value a tensor; or",),
)  # fmt: skip
def weight_found_in_a_table(run: Run) -> None:
    """The number is kept before the list is there, which is a global's."""

    @run.compile
    def routed(x: Any) -> Any:
        best = x.argmax()
        if run.remedied:
            return x * torch.index_select(STACKED, 0, best)
        found = best.item()  # cause
        return x * TABLE[found]

    routed(torch.arange(3.0))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="the program decides by what comes of this, which is data",
    counts=(2, 1),
    never=("change: keep the value a tensor; or",),
)  # fmt: skip
def item_between_two_bounds(run: Run) -> None:
    """The comparison of three is two of them, with a jump between."""

    @run.compile
    def within(x: Any) -> Any:
        total = x.sum()
        if run.remedied:
            return x + torch.logical_and(total > 1, total < 9)
        number = total.item()  # cause
        return x + (1 < number < 9)

    within(ones(4))


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
