"""Numbers out of tensors (item(), tolist(), int()) of which Python itself needs the value: as
symbols they break the graph, too."""

from __future__ import annotations

import enum
import math
from typing import Any

import torch
from torch import zeros

from tests.answers.cases import Run, case

ones = torch.ones


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


class Kept(enum.Enum):
    """How much of a tensor is kept."""

    HALF = 1
    ALL = 4


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


TABLE = [1.0, 2.0, 3.0]


STACKED = torch.tensor(TABLE)


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


FUNCTIONS = [torch.sin, torch.cos, torch.tan]


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="change: the number is all that an input of the function holds: hand it over as a",
    counts=(3, 2),
    never=("no setting helps",),
)  # fmt: skip
def function_by_the_number_of_an_input(run: Run) -> None:
    """With the setting it would be a symbol whose value is known."""

    @run.compile
    def applied(x: Any, at: Any) -> Any:
        doubled = x * 2
        index = at if run.remedied else at.item()  # cause
        return FUNCTIONS[index](doubled)

    for at in (1, 2):
        applied(ones(2), at if run.remedied else torch.tensor(at))


@case(
    "", "why-break",
    cause=("capture_scalar_outputs=False", "1 graph split"),
    advice="Python finds an element by the number, which is data, and no setting helps",
    counts=(2, 1),
    never=("no fewer graphs", "keep the value a tensor; or"),
)  # fmt: skip
def element_by_twice_the_sum(run: Run) -> None:
    """It is computed with before it is an index."""
    values = [ones(2) * number for number in range(6)]

    @run.compile
    def added(x: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            at = x.sum().long()[None] * 2
            return doubled + torch.stack(values).index_select(0, at)[0]
        at = int(x.sum()) * 2  # cause
        return doubled + values[at]

    added(ones(2))


@case(
    "", "why-break",
    cause="Unsupported Tensor.item() call",
    advice="a slice takes its bounds as numbers: pick by a mask, which keeps the size (torch.where",
    counts=(0, 1),
)  # fmt: skip
def cut_where_a_tensor_says(run: Run) -> None:
    @run.compile
    def cut_there(x: Any, many: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            return torch.where(torch.arange(8) < many, doubled, 0.0).sum()
        return (doubled[:many] + 1).sum()  # cause

    cut_there(ones(8), torch.tensor(3))


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
