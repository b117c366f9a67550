"""Programs of an eighteenth sweep: coroutines, and what users do around them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from torch import ones

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
