"""What is asked of sizes and numbers that are no inputs: what is computed, not used, or of a frame
that is given up."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-shape", expression="both.shape[0]",
    cause=(
        "both.shape[0] is s",
        ", made of symbols, at",
        "is upper.shape[0]",
        "is lower.shape[0]",
    ),
    counts=(1, 1),
    never=("nothing is recorded",),
)  # fmt: skip
def size_of_what_is_computed(run: Run) -> None:
    def put_together(upper: Any, lower: Any) -> Any:
        both = torch.cat([upper, lower])
        return both * 2  # cause

    compiled = run.compile(put_together, dynamic=True)
    for size in (3, 4):
        compiled(ones(size, 2), ones(size + 2, 2))


@case(
    "", "why-shape", expression="longest",
    cause=("longest is 6, a number, at", "longest is Max(", "is parts[0].shape[0]"),
    counts=(2, 2),
)  # fmt: skip
def longest_that_an_inner_function_has(run: Run) -> None:
    """Up to CPython 3.11 a comprehension is a function inside, and what it has is in a cell."""

    def collated(parts: Any) -> Any:
        longest = max(len(part) for part in parts)
        return [torch.nn.functional.pad(part, (0, longest - len(part))) for part in parts]

    @run.compile
    def stacked(parts: Any) -> Any:
        return torch.stack(collated(parts))

    for sizes in ((6, 5), (4, 3), (3, 7)):
        stacked([ones(size) for size in sizes])


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is free", "that is not compiled, but given up: why-break says why"),
    counts=(0, 1),
)  # fmt: skip
def size_of_what_is_given_up(run: Run) -> None:
    """A symbol of what was never compiled is no answer by itself."""

    @partial(run.compile, dynamic=True)
    def given_up(x: Any) -> Any:
        y = x * x.shape[0]  # cause
        if not run.remedied:
            torch._dynamo.skip_frame("for the bench")
        return y

    given_up(ones(7))


@case(
    "", "why-shape", expression="height",
    cause=(
        "height is 4, and was s64 before that was fixed",
        "picture.shape[0] is 4: it was the symbol s64",
        "requires Eq(s64, 4), by BUILD_STRING",
    ),
    counts=(3, 2),
    never=("is 4, a number",),
)  # fmt: skip
def local_that_was_a_symbol(run: Run) -> None:
    @run.compile
    def worded_height(picture: Any) -> Any:
        height = picture.shape[0]
        said = "height" if run.remedied else f"height {height}"  # cause
        return picture * len(said)

    for size in (3, 4, 5):
        worded_height(ones(size))


@case(
    "", "why-shape", expression="padding",
    cause="nothing that was traced asks what padding is: none of it is required",
    counts=(1, 1),
    never=("nothing is recorded about", "a number, at"),
)  # fmt: skip
def number_that_is_not_used(run: Run) -> None:
    @run.compile
    def padded_by_nothing(x: Any, padding: int) -> Any:
        return x * 2

    padded_by_nothing(ones(3), 4)
    padded_by_nothing(ones(3), 4 if run.remedied else 5)


@case(
    "", "why-shape", expression="spare.shape[0]",
    cause=(
        "nothing that was traced asks what spare is until the frame was given up (why-break says "
        "why): none of it is required"
    ),
    counts=(0, 1),
    never=("nothing is recorded about",),
)  # fmt: skip
def spare_rows_of_what_is_given_up(run: Run) -> None:
    @run.compile
    def summed_with_spare(x: Any, spare: Any) -> Any:
        for _ in range(2):
            x = x + 1
            if not run.remedied:
                torch._dynamo.graph_break()
        return x

    summed_with_spare(ones(3), ones(5))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is 7, a number", "that is not compiled, but given up: why-break says why"),
    counts=(0, 1),
)  # fmt: skip
def number_in_a_frame_that_is_skipped(run: Run) -> None:
    """What a frame had of a size is no answer by itself where no entry was made of it."""

    @run.compile
    def skipped_over(x: Any) -> Any:
        size = x.shape[0]
        if not run.remedied:
            torch._dynamo.skip_frame("for the bench")  # cause
        return x * size

    skipped_over(ones(7))
