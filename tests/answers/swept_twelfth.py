"""Programs of a twelfth sweep: what saves nothing alone, and what follows from something else."""

from __future__ import annotations

from typing import Any

import torch
from torch import ones

from tests.answers.cases import Run, case


@case(
    "", "why-recompile",
    cause=(
        "past[0].shape[1] grows: 4, 5, 6", "identity of past[1] changes: past[0], another object",
    ),
    advice="Dynamo has made past[0].shape[1] and past[1].shape[1] symbols by itself",
    counts=(3, 2),
    never=("is a symbol until", "needs its value"),
)  # fmt: skip
def keys_that_are_the_values_at_first(run: Run) -> None:
    """The second call has a tensor more, of which the size is a number there, and so all are."""

    @run.compile
    def attended(query: Any, past: Any) -> Any:
        keys, values = past
        return torch.softmax(query @ keys.mT, -1) @ values  # cause

    keys = values = ones(2, 4, 8)
    for _ in range(4):
        if run.remedied:
            torch._dynamo.mark_dynamic(keys, 1)
            torch._dynamo.mark_dynamic(values, 1)
        attended(ones(2, 1, 8), (keys, values))
        keys = torch.cat([keys, ones(2, 1, 8)], 1)
        values = torch.cat([values, ones(2, 1, 8)], 1)


@case(
    "", "why-recompile",
    cause=(
        "hidden changes: None, <Tensor>", "x.shape[1] changes: 5, 3",
        "x.shape[1] changes whenever hidden does, so that what is advised there saves nothing",
    ),
    advice="There is an entry for hidden being None",
    counts=(2, 1),
)  # fmt: skip
def state_from_the_chunk_before(run: Run) -> None:
    """A state from the beginning alone is of no use, and neither is a symbol."""

    @run.compile
    def after_a_chunk(x: Any, hidden: Any = None) -> Any:
        if hidden is None:  # cause
            hidden = x.new_zeros(x.shape[0], 4)
        return torch.tanh(hidden + x.sum(1))

    hidden = torch.zeros(2, 4) if run.remedied else None
    for length in (5, 3, 6):
        x = ones(2, length, 4)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 1)
        hidden = after_a_chunk(x, hidden)


@case(
    "", "why-recompile",
    cause=("inference tensor of x changes: False, True", "inference_mode changes: False, True"),
    advice="Call it under one state: always the same inference mode",
    counts=(2, 1),
    never=("x.clone()",),
)  # fmt: skip
def asked_and_served_with_its_own(run: Run) -> None:
    """The input is made where it is called, so a copy of it would have to be, too."""

    @run.compile
    def scores_of(x: Any, weight: Any) -> Any:
        return (x @ weight).softmax(-1)  # cause

    weight = ones(4, 4)
    with torch.no_grad():
        scores_of(ones(2, 4), weight)
    with torch.no_grad() if run.remedied else torch.inference_mode():
        scores_of(ones(2, 4), weight)


class Filled:
    """A cache that says how much of it is filled."""

    def __init__(self, length: int) -> None:
        self.keys = torch.zeros(1, 32, 4)
        self.length = length

    def append(self, keys: Any) -> Any:
        """All keys so far."""
        count = keys.shape[1]
        self.keys[:, self.length : self.length + count] = keys
        self.length += count
        return self.keys[:, : self.length]


@case(
    "", "why-recompile",
    cause=("x.shape[1] changes: 5, 1", "cache.length changes: 0, 5"),
    advice="cache.length is a symbol by now, and 0 takes an entry of its own all the same",
    counts=(2, 1),
    never=("Ne(s",),
)  # fmt: skip
def prompt_into_an_object(run: Run) -> None:
    """Nothing can be done for the one thing that does not have to be done for the other."""

    def next_of(x: Any, cache: Any) -> Any:
        return (x @ cache.append(x).mT).softmax(-1)

    next_of = run.compile(next_of, dynamic=True if run.remedied else None)

    cache = Filled(5 if run.remedied else 0)
    if not run.remedied:
        next_of(ones(1, 5, 4), cache)
    for _ in range(3):
        next_of(ones(1, 1, 4), cache)


@case(
    "", "why-recompile",
    cause=(
        "stage grows: 0, 1, 2, 3", "alpha changes: 0.0, 0.5",
        "Dynamo has made alpha an input of the graph by itself",
    ),
    advice="needs its value as the bound of a slice of a list",
    counts=(4, 1),
)  # fmt: skip
def stages_that_fade_in(run: Run) -> None:
    """Each of the two takes an entry that the other does not."""
    scales = [2.0, 3.0, 4.0, 5.0]

    @run.compile
    def faded(x: Any, scales: Any, stage: Any, alpha: Any) -> Any:
        for scale in scales[: stage + 1]:  # cause
            x = x * scale
        return x * alpha

    for stage, alpha in enumerate((0.0, 0.5, 1.0, 0.25)):
        if run.remedied:
            faded(ones(3), scales[:2], 1, torch.tensor(alpha))
        else:
            faded(ones(3), scales, stage, alpha)
