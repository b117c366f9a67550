"""Arguments of another type than before, or that are another object."""

from __future__ import annotations

import collections
import enum
import functools
from enum import Enum
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="type of parts changes: dict, OrderedDict",
    advice="Pass parts always as the same type",
    counts=(2, 1),
    never=("same keys", "dictionary of"),
)  # fmt: skip
def another_kind_of_dict(run: Run) -> None:
    @run.compile
    def added_up(x: Any, parts: Any) -> Any:
        for part in parts.values():  # cause
            x = x + part
        return x

    parts = {"a": ones(2), "b": ones(2)}
    added_up(ones(2), parts)
    added_up(ones(2), parts if run.remedied else collections.OrderedDict(parts))


@case(
    "", "why-recompile",
    cause=(
        "type of x changes: Tensor, list, tuple",
        "0/0  type of x: expected Tensor, actual tuple",
    ),
    advice="Pass x always as the same type",
    counts=(3, 1),
    never=("not recorded why",),
)  # fmt: skip
def one_or_several(run: Run) -> None:
    @run.compile
    def added(x: Any) -> Any:
        return sum(x) if isinstance(x, (list, tuple)) else x * 2  # cause

    added(ones(2))
    added(ones(2) if run.remedied else [ones(2), ones(2)])
    added(ones(2) if run.remedied else (ones(2), ones(2)))


@case(
    "pytorch#135011", "why-recompile",
    cause="type of x changes: Tensor, Parameter",
    advice="Pass x always as the same type",
    counts=(2, 1),
)  # fmt: skip
def parameter_or_tensor(run: Run) -> None:
    @run.compile
    def quantized(x: Any) -> Any:
        return x.round()  # cause

    x = ones(2, 2)
    quantized(x)
    quantized(x if run.remedied else nn.Parameter(x, requires_grad=False))


@functools.singledispatch
def features(item: Any) -> Any:
    """Something as a tensor."""
    raise TypeError(type(item))


@features.register
def _(item: torch.Tensor) -> Any:
    return item * 2


@features.register(list)
def _(item: list[Any]) -> Any:
    return torch.stack(item)


@case(
    "", "why-recompile",
    cause=("type of item changes: Tensor, list", "length of dispatch_cache of features changes"),
    advice="Pass item always as the same type",
    counts=(2, 1),
    never=("features.__closure__[0].cell_contents.data changes",),
)  # fmt: skip
def dispatched_by_a_type(run: Run) -> None:
    features._clear_cache()  # type: ignore[attr-defined]  # no stub has it

    @run.compile
    def encoded(item: Any) -> Any:
        return features(item) + 1  # cause

    if run.remedied:
        features(ones(2))
    encoded(ones(2))
    encoded(ones(2) if run.remedied else [ones(2), ones(2)])


class Steps(enum.Flag):
    """What is done to an image."""

    NONE = 0
    FLIP = enum.auto()
    SHIFT = enum.auto()


@case(
    "", "why-recompile",
    cause="object of steps",
    advice="Each object that is handed over as steps is compiled by itself",
    counts=(3, 1),
    never=("made steps._value_ an input",),
)  # fmt: skip
def flags_that_are_combined(run: Run) -> None:
    @run.compile
    def changed(x: Any, steps: Any) -> Any:
        if Steps.FLIP in steps:  # cause
            x = x.flip(-1)
        return x + 1 if Steps.SHIFT in steps else x * 2

    for steps in (Steps.NONE, Steps.FLIP, Steps.FLIP | Steps.SHIFT):
        changed(ones(2), Steps.FLIP if run.remedied else steps)


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


@case(
    "", "why-recompile",
    cause="identity of key changes: query, another object",
    advice="key and query were one object when the entry was made",
    counts=(2, 1),
)  # fmt: skip
def one_tensor_three_times(run: Run) -> None:
    """Of several that are one object Dynamo makes one guard for all pairs."""

    @run.compile
    def attended(query: Any, key: Any, value: Any) -> Any:
        return (query @ key.t()) @ value

    x = ones(2, 2)
    attended(x, x.clone() if run.remedied else x, x)
    attended(x, ones(2, 2), x)


@case(
    "", "why-recompile",
    cause="kernel changes: <SDPBackend.MATH: 0>, SDPBackend.FLASH_ATTENTION",
    advice="Each value of kernel is compiled by itself",
    counts=(2, 1),
)  # fmt: skip
def kernel_that_is_handed_over(run: Run) -> None:
    """It is a member of an enumeration in C++."""

    @run.compile
    def attended_by(q: Any, kernel: Any) -> Any:
        with sdpa_kernel(kernel):  # cause
            return F.scaled_dot_product_attention(q, q, q)

    for kernel in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        attended_by(ones(1, 2, 4, 8), SDPBackend.MATH if run.remedied else kernel)
