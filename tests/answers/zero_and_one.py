"""Sizes and numbers that are 0 or 1, of which Dynamo makes no symbols."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 2, 4  (1 of 2)", "2 <= x.shape[0] does not hold  (1 of 2)"),
    advice="To save the entry for its first size: torch._dynamo.mark_dynamic(x, 0)",
    counts=(3, 2),
)  # fmt: skip
def one_at_last(run: Run) -> None:
    """That a size is 1 in a later entry is not why the second one was made."""

    @run.compile
    def doubled_each(x: Any) -> Any:
        return x * 2 + x.shape[0]  # cause

    for size in (2, 4, 1):
        x = ones(size)
        if run.remedied and size > 1:
            torch._dynamo.mark_dynamic(x, 0)
        doubled_each(x)


@case(
    "", "why-recompile",
    cause=("past changes: 0, 1", "8 - past != 8"),
    advice="0 takes an entry of its own all the same",
    counts=(2, 1),
    never=("dynamic=True",),
)  # fmt: skip
def position_from_zero(run: Run) -> None:
    def decoded(x: Any, past: int) -> Any:
        return x[:, past:] * past  # cause

    compiled = run.compile(decoded, dynamic=True if run.remedied else None)
    for past in range(run.remedied, 4):
        compiled(ones(2, 8), past)


@case(
    "peft#2416", "why-recompile",
    cause="self.scaling['default'] changes: 1.0, 0.5",
    advice="1.0 takes an entry of its own all the same: that of the others requires "
    "self.scaling['default'] != 1.0",
    counts=(2, 1),
    never=("Ne(",),
)  # fmt: skip
def scaled_unless_by_one(run: Run) -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scaling = {"default": 0.75 if run.remedied else 1.0}

        def forward(self, x: Any) -> Any:
            scaling = self.scaling["default"]
            return x.cos() if scaling == 1 else x.cos() * scaling  # cause

    module = Scaled()
    scaled = run.compile(module, dynamic=True if run.remedied else None)
    for scaling in (None, 0.5, 0.25):
        module.scaling["default"] = scaling or module.scaling["default"]
        scaled(ones(2))


@case(
    "", "why-recompile",
    cause="group['decay'] changes: 0, 0.01",
    advice="0 takes an entry of its own all the same",
    counts=(2, 1),
    never=("is of another type",),
)  # fmt: skip
def decayed_later(run: Run) -> None:
    @run.compile
    def decayed(x: Any, group: Any) -> Any:
        decay = group["decay"]
        return x * 2 if decay == 0 else x * 2 - decay  # cause

    for decay in (0.01 if run.remedied else 0, 0.01):
        decayed(ones(2), {"decay": decay})


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 8, 1", "asks whether it is > 4"),
    advice="mark_unbacked(x, 0) would not do, since tests/answers/zero_and_one.py:",
    counts=(2, 1),
    never=("Torch's remedy",),
)  # fmt: skip
def summed_where_there_are_many(run: Run) -> None:
    """No entry has a symbol, so no condition is recorded."""

    @run.compile
    def summed_or_averaged(x: Any) -> Any:
        return x.sum(0) if x.shape[0] > 4 else x.mean(0)  # cause

    for size in (8, 8 if run.remedied else 1):
        summed_or_averaged(ones(size, 3))


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 8, 1",
    advice="Torch's remedy: torch._dynamo.decorators.mark_unbacked(x, 0)",
    counts=(2, 1),
    never=("asks whether",),
)  # fmt: skip
def rows_that_would_be_checked(run: Run) -> None:
    """The comparison is there, and never comes to be made."""

    @run.compile
    def perhaps_checked(x: Any, checked: bool = False) -> Any:
        if checked and x.shape[0] > 4:
            return x
        return x * 2  # cause

    for size in (8, 1):
        x = ones(size, 3)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(x, 0)
        perhaps_checked(x)


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 1, 3", "asks for Eq(x.shape[0], 1), which takes a value"),
    advice="Dynamo makes no symbol of a size 0 or 1",
    counts=(2, 1),
    never=("Torch's remedy",),
)  # fmt: skip
def length_that_a_helper_asks_for(run: Run) -> None:
    """Where it is a symbol the compiler knows the answer, and has no condition for it."""

    def squeezed(rows: Any) -> Any:
        return rows[0] if len(rows) == 1 else rows.sum(0)  # cause

    @run.compile
    def reduced(x: Any) -> Any:
        return squeezed(x) + 1

    for size in (3, 3) if run.remedied else (1, 3):
        reduced(ones(size, 2))


@case(
    "pytorch#110322", "why-recompile",
    cause="2 <= key.shape[1], with 1",
    advice="mark_unbacked(key, 1) before the first call, and likewise of query.shape[1] and ",
    counts=(2, 1),
)  # fmt: skip
def attention_of_one_token(run: Run) -> None:
    def attended(query: Any, key: Any, value: Any) -> Any:
        return (query @ key.transpose(1, 2)) @ value  # cause

    compiled = run.compile(attended, dynamic=True)
    for tokens in (5, 6, 1):
        three = [ones(2, tokens, 8) for _ in range(3)]
        if run.remedied and tokens == 5:
            for each in three:
                torch._dynamo.decorators.mark_unbacked(each, 1)
        compiled(*three)


@case(
    "pytorch#106067", "why-recompile",
    cause="x.shape[0] changes: 0, 2",
    advice="mark_unbacked(x, 0)",
    counts=(2, 1),
)  # fmt: skip
def empty_at_first(run: Run) -> None:
    @run.compile
    def adds_to_the_second(x: Any, y: Any) -> Any:
        return y + 2 if x is not None else y  # cause

    for size in (0, 2):
        x = ones(size)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(x, 0)
        adds_to_the_second(x, ones(2))


@case(
    "", "why-recompile",
    cause="fails: 2 <= x.shape[0]",
    advice="where that is the program's own tensor, since a library calls this function",
    counts=(2, 1),
)  # fmt: skip
def rows_that_a_pool_hands_over(run: Run) -> None:
    def squared_rows(x: Any) -> Any:
        return x * x  # cause

    compiled = run.compile(squared_rows, dynamic=None if run.remedied else True)
    with ThreadPoolExecutor(1) as pool:
        for size in (4, 1):
            x = ones(size, 3)
            if run.remedied:
                torch._dynamo.decorators.mark_unbacked(x, 0)
            pool.submit(compiled, x).result()


@case(
    "pytorch#150222", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is free: the symbol s77, 0 or more",
        "the same symbol as y.shape[0]: they had the same value, 1 (duck shaping)",
    ),
    counts=(1, 1),
    never=("was fixed", "0/1 specialization"),
)  # fmt: skip
def oblivious_of_one(run: Run) -> None:
    def summed(x: Any, y: Any) -> Any:
        return x.sum() + y.sum()

    compiled = run.compile(summed, dynamic=True)
    with torch.fx.experimental._config.patch(backed_size_oblivious=True):
        compiled(ones(1, 3), ones(1, 4))
        compiled(ones(5, 3), ones(5, 4))
