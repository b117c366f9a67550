"""Programs of a tenth sweep: what is there in one call and not in another, and what several values
have in common."""

from __future__ import annotations

import copy
import random
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

import numpy as np
import torch
from torch import nn, ones

from tests.answers.cases import Run, case


@case(
    "", "why-recompile",
    cause="type of extra changes: dict, NoneType",
    advice="There is an entry for extra being None",
    counts=(2, 1),
    never=("is no longer NoneType",),
)  # fmt: skip
def factors_or_none(run: Run) -> None:
    @run.compile
    def by_all_factors(x: Any, extra: Any) -> Any:
        for factor in (extra or {}).values():  # cause
            x = x * factor
        return x + 1

    factors = {"scale": ones(3), "share": ones(3)}
    by_all_factors(ones(3), factors)
    by_all_factors(ones(3), factors if run.remedied else None)


@case(
    "", "why-recompile",
    cause=("type of d changes: dict, NoneType", "keys of d changes: with 'scale', without 'scale'"),
    advice="There is an entry for d being None",
    counts=(3, 1),
    never=("not recorded why", "d['scale'] is not there"),
)  # fmt: skip
def scale_in_a_dict_or_none(run: Run) -> None:
    @run.compile
    def scaled_if_told(x: Any, d: Any) -> Any:
        if d is not None and "scale" in d:  # cause
            return x * d["scale"]
        return x + 1

    scale = {"scale": ones(3)}
    for told in (scale, None, {}):
        scaled_if_told(ones(3), scale if run.remedied else told)


@case(
    "", "why-recompile",
    cause=("type of masks[0] changes: Tensor, NoneType", "masks[1] changes: None, <Tensor>"),
    advice="being None, and one for something else: hand over always one of them, or accept both. "
    "Likewise of masks[0]",
    counts=(2, 1),
    never=("not recorded why",),
)  # fmt: skip
def mask_in_either_place(run: Run) -> None:
    @run.compile
    def masked_by_each(masks: Any, x: Any) -> Any:
        for mask in masks:
            if mask is not None:  # cause
                x = x * mask
        return x

    one = [ones(2), None]
    for masks in (one, [None, ones(2)], [None, None]):
        masked_by_each(one if run.remedied else masks, ones(2))


@case(
    "", "why-recompile",
    cause=("attributes of x changes: without 'padded', with 'padded'", "x.padded changes"),
    advice="x has an attribute in one call that it has not in another",
    counts=(3, 2),
    never=("not recorded why",),
)  # fmt: skip
def tensor_that_says_whether_it_is_padded(run: Run) -> None:
    @run.compile
    def without_padding(x: Any) -> Any:
        return x * 2 if getattr(x, "padded", False) else x + 1  # cause

    for padded in (None, True, False):
        x: Any = ones(3)
        if padded is not None or run.remedied:
            x.padded = bool(padded)
        without_padding(x)


@case(
    "", "why-recompile",
    cause=("type of self.layers._modules changes: dict, ", "OrderedDict"),
    advice="self.layers has other submodules in one call than in another",
    counts=(2, 1),
    never=("always as the same type", "is not there", "has an attribute"),
)  # fmt: skip
def layer_that_is_taken_away(run: Run) -> None:
    class Pruned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:  # cause
                x = layer(x)
            return x

    model = Pruned()
    pruned = run.compile(model)
    if not run.remedied:
        pruned(ones(1, 2))
    del model.layers[2]
    pruned(ones(1, 2))


@case(
    "", "why-recompile",
    cause="length of self.layers._modules grows: 1, 2, 3",
    advice="of several models that differ in them, each takes an entry",
    counts=(3, 1),
)  # fmt: skip
def models_of_several_depths(run: Run) -> None:
    class Deep(nn.Module):
        def __init__(self, depth: int) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(depth))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:  # cause
                x = layer(x)
            return x

    for depth in (1, 2, 3):
        run.compile(Deep(1 if run.remedied else depth))(ones(1, 2))


@case(
    "", "why-recompile",
    cause="requires_grad of self.layers[1].bias changes: False, True",
    advice="Likewise of self.layers[0].bias",
    counts=(3, 1),
)  # fmt: skip
def unfrozen_one_after_another(run: Run) -> None:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x

    model = Stack().requires_grad_(run.remedied)
    trained = run.compile(model)
    trained(ones(1, 2))
    for layer in reversed(model.layers):
        layer.requires_grad_(True)
        trained(ones(1, 2))


@case(
    "", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="draw it before the compiled function, and hand over what is decided by it",
    counts=(2, 1),
    never=("torch.where",),
)  # fmt: skip
def layer_that_is_dropped_by_chance(run: Run) -> None:
    @run.compile
    def dropped(x: Any, kept: Any) -> Any:
        x = x + 1
        if kept if run.remedied else np.random.uniform() < 2:  # cause
            x = x * 2
        return x

    dropped(ones(2), np.random.uniform() < 2)


@case(
    "", "why-break",
    cause="Random.random",
    advice="draw it before the compiled function, and hand over what is decided by it",
    counts=(0, 1),
    never=("before or after",),
)  # fmt: skip
def layer_that_is_left_out_by_chance(run: Run) -> None:
    @run.compile
    def through_some(x: Any, left_out: Any) -> Any:
        for out in left_out:
            if out if run.remedied else random.random() < 0:  # cause
                continue
            x = x * 2
        return x

    through_some(ones(2), [random.random() < 0, False])


@case(
    "", "why-recompile",
    cause="self.low changes: None, <",
    advice="There is an entry for self.low being None",
    counts=(2, 1),
    never=("is not there", "not recorded why"),
)  # fmt: skip
def adapter_that_is_added(run: Run) -> None:
    class Adapted(nn.Module):
        low: Any

        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(2, 2)
            self.low = None

        def forward(self, x: Any) -> Any:
            if self.low is None:  # cause
                return self.project(x)
            return self.project(x) + x @ self.low

    model = Adapted()
    adapted = run.compile(model)
    if not run.remedied:
        adapted(ones(1, 2))
    model.low = nn.Parameter(ones(2, 2))
    adapted(ones(1, 2))


@case(
    "", "why-recompile",
    cause="identity of task",
    advice="task is looked up in weights: each key is compiled by itself",
    counts=(2, 1),
    never=("never (of a tensor a copy",),
)  # fmt: skip
def weight_of_a_task(run: Run) -> None:
    class Task(Enum):
        TAG = 1
        PARSE = 2

    weights = {Task.TAG: ones(2), Task.PARSE: ones(2)}

    @run.compile
    def weighted_for(x: Any, task: Any) -> Any:
        return x * (task if run.remedied else weights[task])  # cause

    for task in Task:
        weighted_for(ones(2), weights[task] if run.remedied else task)


@dataclass
class State:
    """What is handed on from step to step."""

    x: Any
    count: int


@case(
    "", "why-break",
    cause="Attempted to copy.deepcopy a tensor",
    advice="take what `return asdict(state)",
    counts=(2, 1),
    never=("copy before the compiled function",),
)  # fmt: skip
def fields_as_a_dict(run: Run) -> None:
    @run.compile
    def counted_on(state: Any) -> Any:
        state.x = state.x * 2
        if run.remedied:
            return vars(state)["x"] + state.count
        return asdict(state)["x"] + state.count  # cause

    counted_on(copy.copy(State(torch.ones(2), 1)))
