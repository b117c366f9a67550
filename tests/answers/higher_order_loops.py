"""while_loop, scan, checkpoints and regions that are compiled once, with functions that they cannot
take."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.utils.checkpoint import checkpoint

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#139989", "why-break",
    cause="msgspec._core.json_encode",
    advice="wrap your own C or CUDA code as a custom operator",
    counts=(2, 1),
)  # fmt: skip
def code_in_c_under_a_checkpoint(run: Run) -> None:
    """The whole region that is checkpointed runs uncompiled."""

    def region(x: Any) -> Any:
        x = x.sin()
        if not run.remedied:
            msgspec.json.encode(1)  # cause
        return x.cos()

    @run.compile
    def checkpointed(x: Any) -> Any:
        x = x * 2
        return checkpoint(region, x, use_reentrant=False) + 1

    checkpointed(torch.ones(2, requires_grad=True))


@case(
    "", "why-failed",
    cause="HOP: Unsafe side effect",
    advice="change nothing outside of the function that the operator is given",
    counts=(0, 1),
)  # fmt: skip
def noted_under_a_checkpoint(run: Run) -> None:
    seen: list[Any] = []

    @run.whole
    def recomputed(x: Any) -> Any:
        def sine(x: Any) -> Any:
            if not run.remedied:
                seen.append(x.sin())  # cause
            return x.sin()

        return checkpoint(sine, x, use_reentrant=False)

    with contextlib.suppress(Exception):
        recomputed(torch.ones(2, requires_grad=True))


@case(
    "", "why-failed",
    cause="body_fn_output and carried_inputs to have same metadata",
    advice="let the function return what it is given",
    counts=(0, 1),
)  # fmt: skip
def loop_that_grows_its_tensor(run: Run) -> None:
    @run.whole
    def grown(x: Any, count: Any) -> Any:
        def body(x: Any, count: Any) -> Any:
            return x + 1 if run.remedied else torch.cat([x, x]), count + 1

        return while_loop(lambda _, count: count < 3, body, (x, count))  # cause

    with contextlib.suppress(Exception):
        grown(ones(3), torch.tensor(0))


@case(
    "pytorch#147210", "why-failed",
    cause=("UncapturedHigherOrderOpError while tracing", "input mutation"),
    advice="change nothing that the function is given",
    counts=(0, 1),
)  # fmt: skip
def rows_written_in_a_loop(run: Run) -> None:
    @run.compile
    def filled(x: Any) -> Any:
        result = torch.zeros(3, 2)

        def goes_on(i: Any, x: Any) -> Any:
            return i < 3

        def body(i: Any, x: Any) -> Any:
            if not run.remedied:
                result.index_copy_(0, i.reshape(1), x.reshape(1, 2))
            return i + 1, x * 2

        _, x = torch._higher_order_ops.while_loop(  # cause
            goes_on, body, (torch.tensor(0), x)
        )
        return result + x

    with contextlib.suppress(Exception):
        filled(ones(2))


@case(
    "pytorch#158566", "why-failed",
    cause=(
        "UncapturedHigherOrderOpError while tracing", "traced last: ",
        "carried: return state, state.clone() if run.remedied else state",
    ),
    advice="return what is new: where a function returns what it was given",
    counts=(0, 1),
)  # fmt: skip
def state_that_is_returned_twice(run: Run) -> None:
    def carried(state: Any, row: Any) -> Any:
        state = state + row
        return state, state.clone() if run.remedied else state

    @run.compile
    def accumulated(rows: Any) -> Any:
        return scan(carried, torch.zeros(3), rows, dim=0)  # cause

    with contextlib.suppress(Exception):
        accumulated(ones(2, 3))


@case(
    "pytorch#183017", "why-failed",
    cause=(
        "UncapturedHigherOrderOpError while tracing", "traced last: ",
        "halved: return at + 1, y / 2 if run.remedied else y.to(torch.float64) / 2",
    ),
    advice="let the function return what it is given",
    counts=(0, 1),
)  # fmt: skip
def halved_in_more_bits(run: Run) -> None:
    def more(at: Any, y: Any) -> Any:
        return at < 3

    def halved(at: Any, y: Any) -> Any:
        return at + 1, y / 2 if run.remedied else y.to(torch.float64) / 2

    @run.compile
    def solved(x: Any) -> Any:
        loop = torch._higher_order_ops.while_loop
        return loop(more, halved, (torch.tensor(0), x))  # cause

    with contextlib.suppress(Exception):
        solved(ones(3))


@case(
    "", "why-failed",
    cause=("torch.while_loop: unsupported cond_fn return type",),
    advice="let it return a bool, or a tensor of one",
    counts=(0, 1),
    never=("the line is a library's",),
)  # fmt: skip
def asked_of_each_element(run: Run) -> None:
    def small(x: Any) -> Any:
        return (x < 3).all() if run.remedied else x < 3

    @run.whole
    def grown(x: Any) -> Any:
        return while_loop(small, lambda x: (x + 1,), (x,))  # cause

    with contextlib.suppress(Exception):
        grown(ones(2))


@case(
    "", "why-failed",
    cause=("UncapturedHigherOrderOpError while tracing", "Input-to-input aliasing"),
    advice="or make the view inside, by a method (x.t())",
    counts=(0, 1),
    never=("return what is new",),
)  # fmt: skip
def region_with_a_transposed_attribute(run: Run) -> None:
    @torch.compiler.nested_compile_region
    def gram(x: Any) -> Any:
        return x @ (x.t() if run.remedied else x.T)

    def twice(x: Any) -> Any:
        return gram(gram(x))  # cause

    with contextlib.suppress(Exception):
        run.compile(twice)(ones(2, 2))
