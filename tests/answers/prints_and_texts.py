"""Prints, logs, files, clocks and imports, and the texts that are made inside."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@case(
    "", "why-break",
    cause="marked as skipped",
    advice="the statement decides by the clock",
    counts=(2, 1),
    never=("measure around",),
)  # fmt: skip
def budget_of_time(run: Run) -> None:
    @run.compile
    def refined(x: Any) -> Any:
        x = x.sin()
        if not run.remedied and time.perf_counter() < 0:  # cause
            return x
        return x.cos()

    refined(ones(2))


@case(
    "", "why-break",
    cause="Unsupported method call",
    advice="write to files and streams outside of the compiled function",
    counts=(2, 1),
)  # fmt: skip
def progress_written(run: Run) -> None:
    @run.compile
    def counted_on(x: Any) -> Any:
        x = x.sin()
        if not run.remedied:
            sys.stderr.write("")  # cause
        return x.cos()

    counted_on(ones(2))


@case(
    "", "why-break",
    cause=("Observed exception", "object of type 'str' has no len()"),
    advice="a text with a tensor or another object in it is none while it is translated",
    counts=(0, 1),
    never=("handle what raises",),
)  # fmt: skip
def text_of_a_tensor(run: Run) -> None:
    """The program raises nothing: Dynamo has no more than the parts of the text."""

    @run.compile
    def by_its_text(x: Any, length: int) -> Any:
        return x * (length if run.remedied else len(f"{x}"))  # cause

    x = ones(2)
    by_its_text(x, len(f"{x}"))


@case(
    "", "why-break",
    cause="BUILD_STRING type error",
    advice="make the text outside of the compiled function",
    counts=(2, 1),
)  # fmt: skip
def text_with_a_symbol(run: Run) -> None:
    @run.compile
    def step(x: Any, at: int, name: str) -> Any:
        loss = x.square().mean()
        return loss, name if run.remedied else f"{loss:.3f} at {at}"  # cause

    for at in (3, 4, 5):
        step(ones(4), at, "loss")


@case(
    "", "why-break",
    cause=("Observed exception", "unsupported operand type(s) for %"),
    advice="Dynamo writes no number into a text by % that is a symbol: use an f-string",
    counts=(0, 1),
)  # fmt: skip
def size_written_by_percent(run: Run) -> None:
    names: dict[str, int] = {}

    def compiled_name(size: int) -> str:
        return f"of {size}" if run.remedied else "of %d" % size  # noqa: UP031  # cause

    @partial(run.compile, dynamic=True)
    def counted_by_name(x: Any) -> Any:
        names[compiled_name(x.shape[0])] = 1
        return x * 2

    counted_by_name(ones(7))


@case(
    "", "why-break",
    cause="Failed to trace builtin operator",
    advice="which prints after the graph, and of a tensor what it holds then",
    counts=(2, 1),
)  # fmt: skip
def printed_and_then_written_into(run: Run) -> None:
    """Left for later, it would print what is written behind it."""

    @run.compile
    def shifted(x: Any) -> Any:
        y = x * 2
        if not run.remedied:
            print(y)  # cause
        return y.add_(1)

    shifted(ones(2))


@case(
    "", "why-break",
    cause="Failed to trace builtin operator",
    advice="torch._dynamo.config.reorderable_logging_functions.add(print)",
    counts=(0, 1),
)  # fmt: skip
def printed_around_a_block(run: Run) -> None:
    """In what is inlined, within `with`, and what is computed there: all of it can wait."""

    @contextlib.contextmanager
    def told(what: str) -> Iterator[None]:
        print("begins", what)  # cause
        yield
        print("ends", what)

    @run.compile
    def normed(x: Any) -> Any:
        with told("norm"):
            y = x * 2
            print("sum", y.sum())
        return y + 1

    with torch._dynamo.config.patch(
        reorderable_logging_functions={print} if run.remedied else set()
    ):
        normed(ones(2))


@case(
    "", "why-break",
    cause="1 graph break of 1 cause: no graph split",
    advice="prints after the graph (no fewer graphs: all that is computed lies on one side",
    counts=(1, 1),
)  # fmt: skip
def printed_before_anything(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        if not run.remedied:
            print("doubled")  # cause
        return x * 2

    doubled(ones(2))


LOG = logging.getLogger("tests.answers.prints_and_texts")


@case(
    "", "why-break",
    cause="1. logging.Logger method not supported for non-export cases  tests/answers/",
    advice="log outside of the compiled function",
    counts=(1, 1),
    never=("1. logging.Logger method not supported for non-export cases  ~",),
    function="logged_and_resumed",
)  # fmt: skip
def logged_from_within(run: Run) -> None:
    """What Python's own functions break is there only since the program's line leaves the call."""
    LOG.setLevel(logging.DEBUG)
    LOG.propagate = False

    def logged_and_resumed(x: Any) -> Any:
        y = x.cos()
        if not run.remedied:
            LOG.debug("cosines %s", y)  # cause
        return y

    run.compile(logged_and_resumed)(ones(3))


@case(
    "", "why-break",
    cause="`TextIOWrapper` context manager",
    advice="read or write files outside of the compiled function",
    counts=(0, 1),
    never=("enter it around the call",),
)  # fmt: skip
def file_that_is_read_inside(run: Run) -> None:
    @run.compile
    def scaled_by_a_file(x: Any, size: int) -> Any:
        if not size:
            with open(__file__) as file:  # cause
                size = len(file.read())
        return x * size

    scaled_by_a_file(ones(3), 3 if run.remedied else 0)


@case(
    "", "why-break",
    cause="Import failure",
    advice="import at the top of the file",
    counts=(0, 1),
)  # fmt: skip
def import_that_fails(run: Run) -> None:
    @run.compile
    def with_an_extra(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            try:  # noqa: SIM105  # it is what a program does
                import there_is_no_such_module  # type: ignore[import-not-found]  # noqa: F401  # cause
            except ImportError:
                pass
        return x + 1

    with_an_extra(ones(4))


@case(
    "", "why-break",
    cause="builtin operator `print`",
    advice="reorderable_logging_functions.add(print)",
    counts=(1, 1),
    never=("how often the loop runs",),
)  # fmt: skip
def printed_by_a_condition(run: Run) -> None:
    """The loop depends on no data."""
    if run.remedied:
        config.reorderable_logging_functions.add(print)

    @run.compile
    def doubled(x: Any) -> Any:
        x = x * 2
        rounds = 0
        while print("once") or rounds < 1:  # cause
            x = x * 2
            rounds += 1
        return x + 1

    doubled(ones(4))
    config.reorderable_logging_functions.discard(print)
