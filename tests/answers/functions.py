"""Functions that are handed over, kept or replaced: closures, partials, lambdas, what decorators
make."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="apply.keywords['by'] changes: 2.0, 3.0",
    advice="or keep it in a tensor",
    counts=(2, 1),
)  # fmt: skip
def partial_with_another_value(run: Run) -> None:
    def scale(x: Any, by: Any) -> Any:
        return x * by  # cause

    @run.compile
    def applied(apply: Any, x: Any) -> Any:
        return apply(x)

    for by in (2.0, 3.0):
        applied(functools.partial(scale, by=torch.tensor(by) if run.remedied else by), ones(3))


def sines() -> list[Any]:
    return [
        lambda x: x.sin(),
        lambda x: x.cos(),
    ]


@case(
    "", "why-recompile",
    cause=("sines.<locals>.<lambda> at functions.py", "has no attribute '__code__'"),
    advice="is another function in one call than in another",
    counts=(3, 1),
    never=("code of its own each time", "decides for itself"),
)  # fmt: skip
def activations_of_layers(run: Run) -> None:
    class Activated(nn.Module):
        def __init__(self, activation: Any) -> None:
            super().__init__()
            self.activation = activation

        def forward(self, x: Any) -> Any:
            return self.activation(x)  # cause

    for activation in [torch.tanh] * 3 if run.remedied else [*sines(), torch.tanh]:
        run.compile(Activated(activation))(ones(2))


def helper(x: Any) -> Any:
    return x.sin()


@case(
    "pytorch#108898", "why-recompile",
    cause="object of helper.__code__ changes",
    advice="helper is another function in one call than in another",
    counts=(2, 1),
)  # fmt: skip
def global_function_replaced(run: Run) -> None:
    global helper

    @run.compile
    def helped(x: Any) -> Any:
        return helper(x) + 1  # cause

    before = helper
    helped(ones(2))
    if not run.remedied:
        helper = lambda x: x.cos()
    helped(ones(2))
    helper = before


@case(
    "pytorch#172382", "why-recompile",
    cause=("more of added changes: 2, 3", "inner: return x + n + more"),
    advice="Dynamo has made more of added an input of the graph by itself",
    counts=(2, 1),
    never=("__closure__[1] changes", "n of added"),
)  # fmt: skip
def number_that_is_closed_over(run: Run) -> None:
    """Of two variables of a closure that is handed over, which one is it?"""

    def adding(n: int, more: int) -> Any:
        def inner(x: Any) -> Any:
            return x + n + more  # cause

        return inner

    def applied(added: Any, x: Any) -> Any:
        return added(x)

    compiled = run.compile(applied, dynamic=True if run.remedied else None)
    for more in (2, 3):
        compiled(adding(0, more), ones(3))


def leaky(slope: float) -> Callable[[Any], Any]:
    """An activation."""
    return lambda x: torch.where(x > 0, x, x * slope)


def clipped(limit: float) -> Callable[[Any], Any]:
    """Another one."""
    return lambda x: x.clamp(-limit, limit)


@case(
    "", "why-recompile",
    cause=("slope of act changes: 0.1, 0.2", "object of act.__code__"),
    advice="Dynamo has made slope of act an input of the graph by itself",
    counts=(3, 2),
    never=("limit of act changes",),
)  # fmt: skip
def activations_of_a_registry(run: Run) -> None:
    def activated(x: Any, act: Any) -> Any:
        return act(x * 2)

    call = run.compile(activated, dynamic=True if run.remedied else None)
    for act in (leaky(0.1), leaky(0.2), clipped(1.0)):
        call(ones(2), act)


@case(
    "", "why-recompile",
    cause="function.__code__ is not there",
    advice="function is another function in one call than in another",
    counts=(3, 1),
    never=("function.__code__ was there", "the same keys and attributes"),
)  # fmt: skip
def loss_as_a_function_or_a_partial(run: Run) -> None:
    def squared(x: Any, y: Any) -> Any:
        return (x - y) ** 2

    def absolute(x: Any, y: Any) -> Any:
        return (x - y).abs()

    @run.compile
    def loss_of(function: Any, x: Any, y: Any) -> Any:
        return function(x, y)  # cause

    huber = functools.partial(nn.functional.huber_loss, delta=0.5)
    for function in (squared, absolute, huber):
        loss_of(squared if run.remedied else function, ones(2), ones(2))


@case(
    "", "why-recompile",
    cause="object of act changes: torch.relu, torch.sin",
    advice="Each object that stands in act is compiled by itself",
    counts=(2, 1),
    never=("handed over",),
)  # fmt: skip
def activation_from_around(run: Run) -> None:
    """What a function has from the one around it nobody hands over."""
    act = torch.relu

    @run.compile
    def activated(x: Any) -> Any:
        return act(x)  # cause

    activated(ones(3))
    if not run.remedied:
        act = torch.sin
    activated(ones(3))


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


@case(
    "pytorch#178365", "is-guarded", expression="mask.__defaults__[0]",
    cause=(
        "mask.__defaults__[0] is guarded: it must be 0.5",
        "mask.__defaults__[0] is free within the conditions on it",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def offset_of_a_mask(run: Run) -> None:
    @run.compile
    def masked(x: Any, mask: Any) -> Any:
        return torch.where(mask(x), x, 0)

    def made(start: float) -> Any:
        return lambda x, offset=start: x > offset

    masked(ones(3), made(0.5))
    masked(ones(3), made(0.5 if run.remedied else 2.5))


def replaced(x: Any) -> Any:
    return x.sin()


@case(
    "pytorch#108898", "is-guarded", expression="replaced",
    cause="only the code of replaced is guarded",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def function_of_the_module(run: Run) -> None:
    global replaced

    @run.compile
    def through(x: Any) -> Any:
        return replaced(x)

    before = replaced
    through(ones(2))
    if not run.remedied:
        replaced = lambda x: x.cos()
    through(ones(2))
    replaced = before
