"""Numbers that are constants where the program needs their values: to have them be symbols, or keep
them in tensors, would not help."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="self.layer grows: 0, 1, 2",
    advice="needs the value of self.layer as a key of a dict",
    counts=(3, 1),
    never=("allow_unspec_int_on_nn_module", "register_buffer", "count outside"),
)  # fmt: skip
def layers_that_look_for_what_they_kept(run: Run) -> None:
    class Kept:
        def __init__(self) -> None:
            self.keys: dict[int, Any] = dict.fromkeys(range(3), ones(2))

        def of(self, layer: int) -> Any:
            if layer in self.keys:  # cause
                return self.keys[layer] * 2
            return None

    class Attending(nn.Module):
        def __init__(self, layer: int) -> None:
            super().__init__()
            self.layer = layer
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Any, kept: Any) -> Any:
            return self.linear(x) + (kept if run.remedied else kept.of(self.layer))

    kept = Kept()
    for at in range(3):
        run.compile(Attending(at))(ones(2), ones(2) if run.remedied else kept)


@case(
    "", "why-recompile",
    cause="self.place grows: 0, 1, 2",
    advice="needs the value of self.place as a key of a dict",
    counts=(3, 1),
    never=("allow_unspec_int_on_nn_module", "register_buffer"),
)  # fmt: skip
def scale_that_is_there_or_not(run: Run) -> None:
    scales = {0: 2.0, 1: 2.0, 2: 2.0}

    class Scaling(nn.Module):
        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

        def forward(self, x: Any, scale: Any) -> Any:
            return x * (scale if run.remedied else scales.get(self.place, 1.0))  # cause

    for place in range(3):
        run.compile(Scaling(place))(ones(2), 2.0)


@case(
    "", "why-recompile",
    cause="self.times grows: 1, 2, 3",
    advice="needs the value of self.times as the bound of a loop, which is unrolled",
    counts=(3, 1),
    never=("allow_unspec_int_on_nn_module", "register_buffer"),
)  # fmt: skip
def smoothed_as_often_as_is_set(run: Run) -> None:
    class Smoothing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.times = 1

        def forward(self, x: Any) -> Any:
            for _ in range(1 if run.remedied else self.times):  # cause
                x = functional.avg_pool1d(x, 3, 1, 1)
            return x

    smoothing = Smoothing()
    smooth = run.compile(smoothing)
    for times in (1, 2, 3):
        for _ in range(times if run.remedied else 1):
            smooth(ones(1, 4))
        smoothing.times = 1 if run.remedied else times + 1


NUMBER = [0]


@case(
    "", "why-recompile",
    cause="NUMBER[0] changes: 1, 2",
    advice="needs the value of NUMBER[0] for a text",
    counts=(2, 1),
    never=("as an argument", "keep it in a tensor"),
)  # fmt: skip
def parameter_by_a_name_made_of_a_number(run: Run) -> None:
    weights = {"layer1": ones(2), "layer2": ones(2)}

    @run.compile
    def weighted_by_name(x: Any, weight: Any) -> Any:
        return x * (weight if run.remedied else weights["layer%d" % NUMBER[0]])  # noqa: UP031  # cause

    for number in (1, 2):
        NUMBER[0] = 1 if run.remedied else number
        weighted_by_name(ones(2), weights[f"layer{number}"])


@case(
    "", "why-recompile",
    cause="self.warm grows: 1, 2, 3",
    advice="Keep self.warm in a tensor (register_buffer), where the program only computes with it.",
    counts=(3, 1),
    never=("count outside",),
)  # fmt: skip
def step_that_the_loop_counts(run: Run) -> None:
    class Warming(nn.Module):
        warm: Any

        def __init__(self) -> None:
            super().__init__()
            self.warm = 1
            if run.remedied:
                del self.warm
                self.register_buffer("warm", torch.tensor(1))

        def forward(self, x: Any) -> Any:
            return x * self.warm  # cause

    warming = Warming()
    warmed = run.compile(warming)
    for _ in range(3):
        warmed(ones(2))
        warming.warm += 1


@case(
    "", "why-recompile",
    cause="self.place grows: 0, 1, 2",
    advice="needs the value of self.place for a text",
    counts=(3, 1),
    never=("as a key of", "register_buffer"),
)  # fmt: skip
def key_that_is_a_text_of_a_number(run: Run) -> None:
    class Named(nn.Module):
        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

        def forward(self, x: Any, scales: Any) -> Any:
            return x * (2.0 if run.remedied else scales.get(str(self.place), 1.0))  # cause

    for place in range(3):
        run.compile(Named(place))(ones(2), {"7": 2.0})


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
    cause="count grows: 1, 2, 3",
    advice="count is a symbol until tests/answers/needed_values.py:",
    counts=(3, 1),
)  # fmt: skip
def layers_up_to_a_number(run: Run) -> None:
    class Stacked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.LogSigmoid() for _ in range(3)])

        def forward(self, x: Any, count: Any) -> Any:
            for layer in self.layers[:count]:  # cause
                x = layer(x)
            return x

    compiled = run.compile(Stacked())
    for count in (3, 3, 3) if run.remedied else (1, 2, 3):
        compiled(ones(2), count)


@case(
    "", "why-recompile",
    cause=("ids.shape[1] grows: 5, 7, 9", "ids.shape[0] changes: 2, 3"),
    advice="ids.shape[1] is a symbol until tests/answers/needed_values.py",
    counts=(3, 1),
    never=("has made ids.shape[0] a symbol by itself",),
)  # fmt: skip
def repeated_once_for_each_column(run: Run) -> None:
    """Whatever is done about the other size, each number of columns is compiled by itself."""

    def repeated(ids: Any) -> Any:
        return sum(ids.float() for _ in range(ids.shape[1]))  # cause

    def times(ids: Any) -> Any:
        return ids.float() * ids.shape[1]

    compiled = run.compile(times, dynamic=True) if run.remedied else run.compile(repeated)
    for rows, columns in ((2, 5), (2, 7), (3, 9)):
        compiled(ones(rows, columns, dtype=torch.long))


@case(
    "pytorch#114293", "why-recompile",
    cause=("start grows: 2, 3, 4, 5", "by CALL 2"),
    advice="start is a symbol until",
    counts=(4, 2),
    never=("To save the entry",),
)  # fmt: skip
def partial_sums(run: Run) -> None:
    @run.compile
    def accumulated(x: Any, start: Any, end: Any) -> Any:
        if run.remedied:
            return x[start:end].sum(0)
        total = x[start]
        for at in range(start + 1, end):  # cause
            total = total + x[at]
        return total

    for start in (2, 3, 4, 5):
        accumulated(ones(10, 2), start, 9)


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="needs its value to go through a tensor row by row, which is unrolled",
    counts=(3, 2),
)  # fmt: skip
def one_row_after_another(run: Run) -> None:
    @run.compile
    def summed_in_turn(x: Any) -> Any:
        if run.remedied:
            return x.sin().sum(0)
        total = torch.zeros(2)
        for row in x:  # cause
            total = total + row.sin()
        return total

    for size in (3, 4, 5):
        summed_in_turn(ones(size, 2))
