"""Programs of an eighteenth sweep: coroutines, schedulers, transforms and hooks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import torch
from torch import nn, ones

from tests.answers.cases import Run, case


@case(
    "pytorch#93738", "why-failed",
    cause=("Cannot generate resume function", "library_awaited.<locals>.waiting"),
    advice="compile a plain function that it calls instead, or avoid the break, which why-break",
    counts=(1, 1),
)  # fmt: skip
def library_awaited(run: Run) -> None:
    """Torch compiles the coroutine up to the wait, and has no way to go on after it."""

    def doubled(x: Any) -> Any:
        return x * 2

    async def waiting(x: Any) -> Any:
        y = x * 2
        await asyncio.sleep(0)  # cause
        return y

    async def served(x: Any) -> Any:
        y = compiled(x)
        await asyncio.sleep(0)
        return y

    compiled = run.compile(doubled if run.remedied else waiting)
    with contextlib.suppress(AssertionError):
        asyncio.run(served(ones(2)) if run.remedied else compiled(ones(2)))


@case(
    "", "why-break",
    cause=("Missing bytecode handler", "`ASYNC_GEN_WRAP`"),
    advice="compile a plain function that is called between the waits",
    counts=(1, 1),
    never=("write the statement differently",),
)  # fmt: skip
def tokens_that_come_by_and_by(run: Run) -> None:
    async def tokens() -> AsyncIterator[int]:
        for token in range(3):
            yield token  # cause

    @run.compile
    def added(x: Any, token: Any) -> Any:
        return x + token

    async def consumed(x: Any) -> Any:
        total = x.sin()
        async for token in tokens():
            total = total + token
        return total

    async def fed(x: Any) -> None:
        async for _ in tokens():
            x = added(x, ones(2))

    with contextlib.suppress(AssertionError):
        asyncio.run(fed(ones(2)) if run.remedied else run.compile(consumed)(ones(2)))


class Scheduler:
    """Finds the noise of a step by its number, as those of diffusers do."""

    sigmas = (1.0, 0.7, 0.3, 0.0)
    step_index: int | None = None

    def taken(self, x: Any, sigma: float, following: float) -> Any:
        return x + (following - sigma) * x.sin()

    def step(self, x: Any) -> Any:
        if self.step_index is None:  # cause
            self.step_index = 0
        return self.taken(x, self.sigmas[self.step_index], self.sigmas[self.step_index + 1])


SCHEDULER = Scheduler()


@case(
    "", "why-recompile",
    cause="SCHEDULER.step_index grows: 0, 1, 2",
    advice="The program finds an element by SCHEDULER.step_index: do that outside",
    counts=(3, 2),
    never=("over as an argument", "in a tensor"),
)  # fmt: skip
def noise_of_each_step(run: Run) -> None:
    @run.compile
    def denoised(x: Any) -> Any:
        return SCHEDULER.step(x)

    @run.compile
    def with_what_is_found(x: Any, sigma: float, following: float) -> Any:
        return SCHEDULER.taken(x, sigma, following)

    x = ones(2)
    for step in range(3):
        SCHEDULER.step_index = step
        sigma, following = SCHEDULER.sigmas[step : step + 2]
        x = with_what_is_found(x, sigma, following) if run.remedied else denoised(x)


@case(
    "pytorch#128711", "why-break",
    cause="Unsupported functorch tracing attempt",
    advice="compile what makes the transform, and not what it is made of",
    counts=(0, 1),
)  # fmt: skip
def mapped_from_outside(run: Run) -> None:
    def waved(x: Any) -> Any:
        return x.sin()

    (run.compile(torch.vmap(waved)) if run.remedied else torch.vmap(run.compile(waved)))(ones(3, 3))


@case(
    "", "why-recompile",
    cause="functorch changes: none, vmap",
    advice="call it always under the same",
    counts=(2, 1),
    never=("reshape", "detach"),
)  # fmt: skip
def mapped_and_alone(run: Run) -> None:
    @torch.compile(backend="eager")  # under a transform Dynamo traces for no other
    def waved(x: Any) -> Any:
        return x.sin()  # cause

    (torch.vmap(waved) if run.remedied else waved)(ones(3, 3))
    torch.vmap(waved)(ones(3, 3))
    run.count_with_torch()


@case(
    "", "why-recompile",
    cause="requires_grad of input changes: False, True",
    advice="Linear.forward is compiled by itself because the graph breaks in what calls it",
    counts=(2, 1),
    never=("detach",),
    function="Linear.forward",
)  # fmt: skip
def layers_with_a_hook_that_prints(run: Run) -> None:
    def told(_module: nn.Module, _given: object, out: Any) -> None:
        if not run.remedied:
            print(out.shape)

    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    for layer in net:
        layer.register_forward_hook(told)
    run.compile(net)(ones(1, 2))
