"""Programs whose compiled function only hands its inputs on, or gets tensors of another class: the
compiler's names and guards are not those that a person asks about."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

from tests.answers.cases import Run, case

ones = torch.ones


def handing_on(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator as libraries have them around their models' `forward`."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def bounded(run: Run) -> nn.Module:
    """A model that asks whether its input is a long one."""

    class Bounded(nn.Module):
        @handing_on
        def forward(self, ids: Any, mask: Any = None) -> Any:
            if not run.remedied and ids.shape[1] > 6:  # the line of the cause
                return ids * 2
            return ids + 1

    return Bounded()


@case(
    "", "why-shape", expression="ids.shape[1]", function="handing_on.<locals>.wrapper",
    cause=(
        "handing_on.<locals>.wrapper: ids.shape[1] is free: the symbol s81, 2 to 6",
        "requires s81 <= 6, by POP_JUMP",
    ),
    counts=(2, 1),
    never=("args[1]",),
)  # fmt: skip
def size_by_its_inner_name(run: Run) -> None:
    compiled = run.compile(bounded(run), dynamic=True)
    for length in (5, 7):
        compiled(ones(2, length), mask=None)


@case(
    "", "why-failed",
    cause=(
        "Could not guard on data-dependent expression",
        "u0 is x.shape[0], which is marked by mark_unbacked",
    ),
    advice="with mark_dynamic instead, each side of the condition gets an entry",
    counts=(0, 1),
    never=("a number that comes from data",),
)  # fmt: skip
def decided_by_a_marked_size(run: Run) -> None:
    @run.whole
    def chosen(x: Any) -> Any:
        if x.shape[0] > 3:  # cause
            return x * 2
        return x + 1

    x = ones(5, 2)
    marks = torch._dynamo.decorators
    (marks.mark_dynamic if run.remedied else marks.mark_unbacked)(x, 0)
    with contextlib.suppress(Exception):
        chosen(x)


@case(
    "", "is-guarded", expression="x.shape[0]",
    cause=("x.shape[0] is free within the conditions on sizes: it is the symbol s77",),
    counts=(1, 1),
    never=("it must be as it was",),
)  # fmt: skip
def size_of_a_subclass(run: Run) -> None:
    def small(x: Any) -> Any:
        return x * 2 if x.shape[0] <= 4 else x + 1

    compiled = run.compile(small, dynamic=True)
    for rows in (4, 4 if run.remedied else 3):
        compiled(TwoTensor(ones(rows, 2), ones(rows, 2)))


@case(
    "", "why-shape", expression="x.stride(0)",
    cause=("x.stride(0) is no symbol of its own: it is s27",),
    counts=(2, 1),
    never=("x.stride(0) never was a symbol: TENSOR_MATCH requires s27",),
)  # fmt: skip
def stride_that_is_a_size(run: Run) -> None:
    def flat(x: Any) -> Any:
        return x.contiguous().view(-1)

    compiled = run.compile(flat, dynamic=True)
    for x in (ones(4, 6), ones(6, 4).t()):
        compiled(x.contiguous() if run.remedied else x)


@case(
    "", "why-recompile",
    cause=("shifted, inner of wrap_inline", "type of fn changes: "),
    advice="inner is one code for all functions that it wraps",
    counts=(2, 1),
    never=("always as the same type", "hand over what it is taken from"),
)  # fmt: skip
def function_and_method_that_torch_decorates(run: Run) -> None:
    """Dynamo hands on to both from one function of its own."""

    class Average:
        @torch.no_grad()
        def update(self, x: Any) -> Any:
            return x * 0.9

    @torch.no_grad()
    def shifted(x: Any) -> Any:
        return x + 1

    update, compiled = run.compile(Average().update), run.compile(shifted)
    update(ones(2))
    if not run.remedied:
        compiled(ones(2))
