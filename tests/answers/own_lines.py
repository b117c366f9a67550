"""Programs of which an answer blamed a library for what the program did, advised on one size what
holds of two, or said of one object what is true of another."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.func import functional_call

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause=("x.shape[1] changes: 4, 5  (1 of 2)", "x.shape[1] != 8 does not hold"),
    advice="To save the entry for its first size: torch._dynamo.mark_dynamic(x, 1)",
    counts=(3, 2),
    never=("each value is compiled by itself",),
)  # fmt: skip
def as_long_as_the_mask_is(run: Run) -> None:
    """Only the whole of a buffer is laid out as if nothing had been cut off, which is asked."""

    class Causal(nn.Module):
        mask: Any

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mask", torch.tril(ones(1, 8, 8)))

        def forward(self, x: Any) -> Any:
            length = x.shape[1]
            hidden = self.mask[:, :length, :length] == 0
            return (x @ x.mT).masked_fill(hidden, -1.0)

    attend = run.compile(Causal(), dynamic=True if run.remedied else None)
    for length in (4, 5, 6, 8):
        attend(ones(1, length, 2))


@case(
    "", "why-recompile",
    cause=("scores.shape[0] changes: 4, 5", "scores.shape[1] changes: 4, 5"),
    advice="Dynamo has made scores.shape[0] and scores.shape[1] symbols by itself. To save the "
    "entry for their first sizes: torch.compile(dynamic=True), or all of these before the first",
    counts=(2, 1),
    never=("To save the entry for its first size",),
)  # fmt: skip
def both_sides_of_a_square(run: Run) -> None:
    """A mark on one of the two is refused: it has to equal the other."""

    def hidden(length: int) -> Any:
        return torch.triu(ones(length, length), 1).bool()

    def attend(scores: Any) -> Any:
        return scores.masked_fill(hidden(scores.shape[-1]), -1e9).softmax(-1)

    attend = run.compile(attend, dynamic=True if run.remedied else None)
    for length in (4, 5, 6):
        attend(ones(length, length))


@case(
    "", "why-recompile",
    cause=("ids.shape[1] grows: 5, 7, 9", "ids.shape[0] changes: 2, 3"),
    advice="ids.shape[1] is a symbol until tests/answers/own_lines.py",
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
    "", "why-failed",
    cause=("FrozenInstanceError: cannot assign to field 'step'", "inside <string>:"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def written_into_a_frozen_state(run: Run) -> None:
    """The method that refuses was made from text, by dataclasses."""

    @dataclass(frozen=True)
    class State:
        hidden: Any
        step: int

    def advance(state: Any, x: Any) -> Any:
        if not run.remedied:
            state.step = state.step + 1  # cause
        return state.hidden + x

    with run.failing():
        run.whole(advance)(State(ones(3), 0), ones(3))


@case(
    "", "why-failed",
    cause=("AttributeError: Sequential has no attribute `3`", "contextlib.py"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def called_with_a_parameter_too_many(run: Run) -> None:
    """What the library raises comes out of a `with` of its own."""
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    parameters = dict(net.named_parameters())
    if not run.remedied:
        parameters["3.weight"] = parameters.pop("2.weight")

    def predict(parameters: Any, x: Any) -> Any:
        return functional_call(net, parameters, (x,))  # cause

    with run.failing():
        run.whole(predict)(parameters, ones(2, 4))


@case(
    "", "why-failed",
    cause=("KeyError: linaer", "[1] 'linaer'  LazyConstantVariable  (lazy)  self.kind"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def schedule_that_is_not_known(run: Run) -> None:
    class Schedule(nn.Module):
        betas = {"linear": (0.1, 0.2), "cosine": (0.0, 0.9)}  # noqa: RUF012 -- as it is written

        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind = kind

        def forward(self, x: Any) -> Any:
            low, high = self.betas[self.kind]  # cause
            return x * (high - low)

    with run.failing():
        run.whole(Schedule("linear" if run.remedied else "linaer"))(ones(3))


@case(
    "", "why-failed",
    cause=(
        "Given normalized_shape=[8], expected input with shape [8], but got input of size",
        "LayerNorm  UnspecializedBuiltinNNModuleVariable  self.blocks[1].norm",
    ),
    counts=(0, 1),
)  # fmt: skip
def block_of_another_width(run: Run) -> None:
    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(width)

        def forward(self, x: Any) -> Any:
            return self.norm(x) + x  # cause

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block(4), Block(4 if run.remedied else 8)])

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return x

    with run.failing():
        run.whole(Net())(ones(2, 4))


@case(
    "", "why-failed",
    cause=("RecursionError while tracing", " times from tests/answers/own_lines.py"),
    counts=(0, 1),
)  # fmt: skip
def called_by_itself_for_ever(run: Run) -> None:
    """A way of many calls of one function is told as one."""

    def grown(x: Any, times: int) -> Any:
        if times == 0 or (run.remedied and times < 2):
            return x
        return grown(x + 1, times)  # cause

    with run.failing():
        run.whole(grown)(ones(2), 1)


@case(
    "", "is-guarded", expression="self.training",
    cause=(
        "self.training of the compiled one itself is not guarded",
        "self.drop.training is guarded: it must be True",
        "self of an inlined function is self.drop of the compiled one",
    ),
    counts=(1, 1),
    never=("self.training is guarded: it must be True\n  self",),
)  # fmt: skip
def mode_of_the_whole_or_of_a_part(run: Run) -> None:
    """Only a layer of it looks at its mode."""

    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x: Any) -> Any:
            return self.drop(x) + 1

    net = Dropping()
    compiled = run.compile(net)
    compiled(ones(2))
    net.training = run.remedied
    compiled(ones(2))


@case(
    "", "is-guarded", expression="rates['low']",
    cause=(
        "rates['low'] is what __getitem__ gives: what that reads is guarded",
        "L['rates'].maps[1]['low'] == 1",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def item_of_several_dicts(run: Run) -> None:
    rates = ChainMap({"high": 2}, {"low": 1})

    @run.compile
    def scaled(x: Any, rates: Any) -> Any:
        return x * 3 if rates["low"] == 1 else x

    scaled(ones(2), rates)
    rates.maps[1]["low"] = 1 if run.remedied else 5
    scaled(ones(2), rates)
