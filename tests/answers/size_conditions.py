"""Conditions on sizes, which the program or torch asks, and sizes on the other side of them."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause=(
        "(((-1)*x.shape[1]) % width) != 0 does not hold  (1 of 2)",
        "(x.shape[1] // width) != 1 does not hold  (1 of 2)",
    ),
    advice="in padded_to_windows asks for: keep the calls on one side of it",
    counts=(3, 1),
)  # fmt: skip
def two_lines_that_ask_of_one_size(run: Run) -> None:
    """What each asks is a cause of its own."""

    def padded_to_windows(x: Any, width: int) -> Any:
        more = -x.shape[1] % width
        if more:  # cause
            x = nn.functional.pad(x, (0, more))
        return x.view(x.shape[0], -1, width).mean(-1)

    compiled = run.compile(padded_to_windows, dynamic=True)
    for size in (10, 12, 18) if run.remedied else (10, 12, 16, 24, 8):
        compiled(ones(2, size), 8)


@case(
    "", "why-recompile",
    cause=("image.shape[0] changes: 8, 12", "image.shape[1] changes: 8, 12"),
    advice="8 takes an entry of its own all the same",
    counts=(2, 1),
    never=("mark_dynamic",),
)  # fmt: skip
def side_at_which_nothing_is_done(run: Run) -> None:
    """Marked, the second size would be asked for in the first entry, too."""

    @run.compile
    def resized(image: Any) -> Any:
        height, width = image.shape  # cause
        if height == 8 and width == 8:
            return image * 2
        return image * height

    for side in (12 if run.remedied else 8, 12):
        resized(ones(side, side))


@case(
    "", "why-recompile",
    cause=("x.shape[1] changes: 4, 5  (1 of 2)", "x.shape[1] != 8 does not hold"),
    advice="To save the entry for its first size: torch._dynamo.maybe_mark_dynamic(x, 1)",
    counts=(3, 2),
    never=("each value is compiled by itself",),
)  # fmt: skip
def as_long_as_the_mask_is(run: Run) -> None:
    """Only the whole of a buffer is laid out as if nothing had been cut off, which is asked."""

    class Causal(nn.Module):
        mask: Any

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mask", torch.tril(ones(1, 8, 8)))

        def forward(self, x: Any) -> Any:
            length = x.shape[1]
            hidden = self.mask[:, :length, :length] == 0
            return (x @ x.mT).masked_fill(hidden, -1.0)

    attend = run.compile(Causal(), dynamic=True if run.remedied else None)
    for length in (4, 5, 6, 8):
        attend(ones(1, length, 2))


@case(
    "pytorch#191833", "why-recompile",
    cause=("x.shape[0] <= x.shape[1] does not hold", "if not run.remedied and high > wide:"),
    advice="The entry requires x.shape[0] <= x.shape[1], which",
    counts=(2, 1),
)  # fmt: skip
def one_side_is_longer(run: Run) -> None:
    """What fails is about two sizes: neither is the one that changed."""

    def by_its_sides(x: Any) -> Any:
        high, wide = x.shape
        if not run.remedied and high > wide:  # cause
            return x + 1
        return x - 1

    compiled = run.compile(by_its_sides, dynamic=True)
    for sides in ((4, 6), (6, 4)):
        compiled(ones(*sides))


@case(
    "", "why-recompile",
    cause="requires Eq(Mod(8 - (Mod(",
    advice="keep the calls on one side of it, or do without what asks",
    counts=(2, 1),
    never=("fails: (x.shape[1] // 8) != x.shape[1], with 13",),
)  # fmt: skip
def padded_to_a_multiple(run: Run) -> None:
    """Five more conditions on the same size come from the last line, and the first fails."""

    def padded(x: Any) -> Any:
        size = x.shape[1]
        missing = (8 - size % 8) % 8
        if run.remedied or missing:  # cause
            x = nn.functional.pad(x, (0, missing))
        return x.view(x.shape[0], -1, 8)

    compiled = run.compile(padded, dynamic=True)
    for size in (16, 13, 24):
        compiled(ones(2, size))


@case(
    "", "why-recompile",
    cause=(
        "(x.shape[2] // 8)*(x.shape[2] // 8) == 16 does not hold",
        "//8))**2, 16), by POP_JUMP",
    ),
    advice="The entry requires (x.shape[2] // 8)*(x.shape[2] // 8) == 16",
    counts=(2, 1),
    never=("Ne(Mod(",),
    function="Embedded.forward",
)  # fmt: skip
def image_of_its_usual_size(run: Run) -> None:
    """As the vision transformers do that interpolate their positions."""

    class Embedded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.projection = nn.Conv2d(1, 2, 8, 8)
            self.out = nn.Linear(2, 2)
            self.positions = nn.Parameter(ones(1, 16, 2))

        def forward(self, x: Any) -> Any:
            patches = self.projection(x).flatten(2).transpose(1, 2)
            if not run.remedied and patches.shape[1] == self.positions.shape[1]:  # cause
                return self.out(patches + self.positions)
            return self.out(patches)

    embedded = run.compile(Embedded(), dynamic=True)
    for size in (32, 48):
        embedded(ones(1, 1, size, size))


@case(
    "", "why-recompile",
    cause=("xs[0].shape[0] changes: 3, 4", "xs[1].shape[0] changes: 5, 2"),
    advice="that of the others requires xs[1].shape[0] <= xs[0].shape[0]. Keep it on one side",
    counts=(2, 2),
    never=("mark_dynamic",),
)  # fmt: skip
def padded_to_the_longest(run: Run) -> None:
    """With symbols from the first call on they are as many entries."""

    @run.compile
    def together(xs: Any) -> Any:
        return nn.utils.rnn.pad_sequence(xs)  # cause

    for lengths in ((3, 5), (4, 2)):
        together([ones(length) for length in lengths])


@case(
    "", "why-recompile",
    cause="(tokens.shape[0] / 16) == 2.0625 does not hold",
    advice="tokens.shape[0] is a symbol until",
    counts=(2, 1),
    never=("keep the calls on one side",),
)  # fmt: skip
def float_of_a_length(run: Run) -> None:
    def in_blocks(tokens: Any) -> Any:
        assert tokens.shape[0] < 100
        blocks = tokens.shape[0] / 16
        if not run.remedied and blocks.is_integer():  # cause
            return tokens
        return tokens[: math.floor(blocks) * 16]

    compiled = run.compile(in_blocks, dynamic=True)
    for size in (33, 40):
        compiled(ones(size))


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 2 <= x.shape[0] <= 16 does not hold",
    advice="The entry requires 2 <= x.shape[0] <= 16, which",
    counts=(2, 1),
)  # fmt: skip
def elements_against_a_limit(run: Run) -> None:
    """What is compared is not the size itself, so that the entry has a range of it."""

    @run.compile
    def limited(x: Any) -> Any:
        return x.sum() if x.numel() > 64 else x.cumsum(0)  # cause

    for size in (6, 12 if run.remedied else 20):
        x = ones(size, 4)
        torch._dynamo.mark_dynamic(x, 0)
        limited(x)


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 3, 4", "requires s77 < 10"),
    advice="has made x.shape[0] a symbol by itself",
    counts=(3, 2),
)  # fmt: skip
def branch_on_a_size(run: Run) -> None:
    @run.compile
    def short_or_long(x: Any) -> Any:
        if run.remedied or x.shape[0] < 10:  # cause
            return x * 2
        return x * 3

    for size in (3, 4, 20):
        short_or_long(ones(size))
