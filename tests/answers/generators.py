"""Generators, iterators and coroutines."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#126360", "why-break",
    cause=("skipped without a graph break", "Attempt to trace generator"),
    advice="compile the function that calls it",
    counts=(0, 1),
)  # fmt: skip
def generator_that_is_compiled(run: Run) -> None:
    """Its frame runs uncompiled, and nothing else says so."""

    def each(x: Any) -> Any:
        for power in range(2):
            yield x**power

    def all_of_them(x: Any) -> Any:
        return list(each(x))

    compiled = run.compile(all_of_them if run.remedied else each)
    list(compiled(ones(2)))


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


@case(
    "", "why-break",
    cause=("Reconstruction failure", "comes of 1: ", "what cannot be made: marks (SetIterator)"),
    advice="print outside of the compiled function",
    counts=(0, 1),
)  # fmt: skip
def iterator_across_a_print(run: Run) -> None:
    """What cannot be made anew for the rest of a function is why that is given up."""

    @run.compile
    def marked_twice(x: Any) -> Any:
        marks = iter({1, 2})
        x = x * next(marks)
        if not run.remedied:
            print("marked")  # cause
        return x * next(marks)

    marked_twice(ones(3))


@case(
    "", "why-break",
    cause=("Read uninitialized cell", "what cannot be made: drawn", "halves_in_turn()"),
    advice="avoid the break that it comes of; or use up what cannot be made before that line",
    counts=(0, 1),
    function="halves_in_turn",
)  # fmt: skip
def generator_across_a_break(run: Run) -> None:
    @run.compile
    def halved_twice(x: Any) -> Any:
        def halves_in_turn() -> Any:
            yield x / 2
            yield x / 4  # cause

        drawn = halves_in_turn()
        first = next(drawn)
        if run.remedied:
            return first + next(drawn)
        torch._dynamo.graph_break()
        return first + next(drawn)

    halved_twice(ones(3))


@case(
    "", "why-break",
    cause=("Reconstruction failure", "what cannot be made: SetIterator"),
    advice="return what it is made from",
    counts=(0, 1),
    never=("comes of",),
)  # fmt: skip
def iterator_that_is_returned(run: Run) -> None:
    @run.compile
    def doubled_with_marks(x: Any) -> Any:
        marks = {1, 2}
        return x * 2, marks if run.remedied else iter(marks)  # cause

    doubled_with_marks(ones(3))


@case(
    "", "why-break",
    cause="Missing bytecode handler",
    advice="compile a plain function that is called between the waits",
    counts=(0, 1),
    never=("write the statement differently",),
)  # fmt: skip
def coroutine_compiled(run: Run) -> None:
    async def factor() -> int:
        return 2

    async def awaited(x: Any) -> Any:
        y = x * 2
        return y * await factor()  # cause

    def plain(x: Any) -> Any:
        return x * 2 * 2

    if run.remedied:
        run.compile(plain)(ones(4))
    else:
        asyncio.run(run.compile(awaited)(ones(4)))


@case(
    "pytorch#129658", "why-failed",
    cause=("Unsupported before tracing", "Attempt to trace generator"),
    advice="compile the function that calls it",
    counts=(0, 1),
)  # fmt: skip
def generator_in_one_graph(run: Run) -> None:
    def each(x: Any) -> Any:
        for power in range(2):
            yield x**power

    def all_of_them(x: Any) -> Any:
        return list(each(x))

    compiled = run.whole(all_of_them if run.remedied else each)
    with contextlib.suppress(Exception):
        compiled(ones(2))


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
