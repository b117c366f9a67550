"""Programs that train and serve models, as libraries wrap them."""

from __future__ import annotations

from typing import Any

import torch

from tests.answers.cases import Run, case
from tests.answers.wrapped import handing_on

ones = torch.ones


@case(
    "", "why-recompile", function="step",
    cause="length of list(self.state.values())[0] changes: 0, 1",
    advice="An optimizer makes what it keeps for each parameter (self.state) in its first step",
    counts=(2, 1),
)  # fmt: skip
def first_step_of_an_optimizer(run: Run) -> None:
    weight = torch.nn.Parameter(ones(3))
    optimizer = torch.optim.SGD([weight], lr=torch.tensor(0.1), momentum=0.9, foreach=False)

    def backward() -> None:
        (weight * 2).sum().backward()

    if run.remedied:
        backward()
        optimizer.step()
    step = run.compile(optimizer.step)
    for _ in range(3):
        backward()
        step()


@case(
    "", "why-recompile", function="wrapper",
    cause="object of function.__code__ changes: ",
    advice="handing_on.<locals>.wrapper is one code for all functions that it wraps",
    counts=(3, 1),
    never=("hand over args always with as many",),
)  # fmt: skip
def one_wrapper_around_two(run: Run) -> None:
    @handing_on
    def layer(x: Any, scale: int, *, shift: int) -> Any:
        x = x * scale
        if not run.remedied:
            torch._dynamo.graph_break()
        return x + shift

    @handing_on
    def model(x: Any) -> Any:
        return layer(x + 1, 2, shift=3)

    run.compile(model)(ones(3))


@case(
    "", "why-recompile",
    cause="size[0] of x changes: 4, 6",
    advice="torch._dynamo.mark_dynamic(x, 0) before the first call",
    counts=(3, 2),
)  # fmt: skip
def option_given_once(run: Run) -> None:
    def f(x: Any, **options: Any) -> Any:
        if options.get("empty"):
            return ones(2) * 2
        return x + 1  # cause

    compiled = run.compile(f)
    compiled(ones(4), empty=True)
    for length in (4, 6, 5):
        x = ones(length)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        compiled(x)
