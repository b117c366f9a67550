"""Sizes that are equal at first, so that Dynamo makes one symbol of them."""

from __future__ import annotations

from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="x.shape[3] == x.shape[2] does not hold  (1 of 1)",
    advice="use_duck_shape = False before the first call",
    counts=(2, 1),
    never=("x.shape[2] changes",),
)  # fmt: skip
def square_image_and_a_float(run: Run) -> None:
    def enlarged(x: Any, scale: float) -> Any:
        return x * (int(x.shape[2] * scale) + int(x.shape[3] * scale))  # cause

    compiled = run.compile(enlarged, dynamic=True)
    for sides in ((8, 9) if run.remedied else (8, 8), (10, 8)):
        compiled(ones(1, 3, *sides), 1.5)


@case(
    "", "why-recompile",
    cause=("2 <= a.shape[0] does not hold  (1 of 2)", "b.shape[0] == a.shape[0] does not hold"),
    advice="Torch's remedy: torch._dynamo.decorators.mark_unbacked(a, 0) before the first call",
    counts=(3, 1),
)  # fmt: skip
def sizes_that_part_and_one_of_one(run: Run) -> None:
    """That two sizes are one symbol no longer is why there is a second entry, and not a third."""

    def added_both(a: Any, b: Any) -> Any:
        return a.sum() + b.sum()  # cause

    compiled = run.compile(added_both, dynamic=True)
    for first, second in ((5, 5), (6, 7), (1, 3)):
        a, b = ones(first), ones(second)
        if run.remedied:
            for each in (a, b):
                torch._dynamo.decorators.mark_unbacked(each, 0)
        compiled(a, b)


@case(
    "", "why-recompile",
    cause=("scores.shape[0] changes: 4, 5", "scores.shape[1] changes: 4, 5"),
    advice="Dynamo has made scores.shape[0] and scores.shape[1] symbols by itself. To save the "
    "entry for their first sizes: torch.compile(dynamic=True), or all of these before the first",
    counts=(2, 1),
    never=("To save the entry for its first size",),
)  # fmt: skip
def both_sides_of_a_square(run: Run) -> None:
    """A mark on one of the two is refused: it has to equal the other."""

    def hidden(length: int) -> Any:
        return torch.triu(ones(length, length), 1).bool()

    def attend(scores: Any) -> Any:
        return scores.masked_fill(hidden(scores.shape[-1]), -1e9).softmax(-1)

    attend = run.compile(attend, dynamic=True if run.remedied else None)
    for length in (4, 5, 6):
        attend(ones(length, length))


@case(
    "pytorch#150702", "why-recompile",
    cause="fails: latent.shape[2] == latent.shape[1]",
    advice="use_duck_shape = False",
    counts=(2, 1),
)  # fmt: skip
def height_and_width(run: Run) -> None:
    def positions(latent: Any) -> Any:
        height, width = latent.shape[-2:]  # cause
        rows, columns = torch.arange(height), torch.arange(width)
        return latent * rows[:, None] + columns

    compiled = run.compile(positions, dynamic=True)
    with torch.fx.experimental._config.patch(use_duck_shape=not run.remedied):
        compiled(ones(4, 8, 8))
        compiled(ones(4, 12, 6))


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 4, 6",
    advice="torch.compile(dynamic=True) would make one symbol of it and x.shape[1], which are",
    counts=(2, 1),
    never=(", or torch.compile(dynamic=True)",),
)  # fmt: skip
def as_many_rows_as_columns(run: Run) -> None:
    """Where all sizes are symbols, the entry is for as many rows as columns, too."""

    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2  # cause

    for size in (4, 6):
        x = ones(size, 4)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        doubled(x)


@case(
    "", "why-recompile",
    cause="ids.shape[0] changes: 2, 3, and of 1 other",
    advice=(
        "torch._dynamo.mark_dynamic(ids, 0), and likewise of mask; "
        "torch._dynamo.mark_dynamic(ids, 1), and likewise of mask"
    ),
    counts=(2, 1),
)  # fmt: skip
def two_sizes_of_ids_and_their_mask(run: Run) -> None:
    """Marks on one of them alone are refused: the other has the same sizes."""

    @run.compile
    def masked(ids: Any, mask: Any) -> Any:
        return (ids * mask).sum()  # cause

    for size in ((2, 5), (3, 9)):
        ids, mask = ones(size), ones(size)
        for given in (ids, mask) if run.remedied else ():
            torch._dynamo.mark_dynamic(given, 0)
            torch._dynamo.mark_dynamic(given, 1)
        masked(ids, mask)


@case(
    "pytorch#129456", "why-recompile",
    cause="fails: y.shape[0] == x.shape[0]",
    advice="use_duck_shape",
    counts=(2, 1),
)  # fmt: skip
def equal_by_chance(run: Run) -> None:
    def both_sums(x: Any, y: Any) -> Any:
        return x.sum() + y.sum()  # cause

    compiled = run.compile(both_sums, dynamic=True)
    with torch.fx.experimental._config.patch(use_duck_shape=not run.remedied):
        compiled(ones(4), ones(4))
        compiled(ones(4), ones(6))


@case(
    "", "why-recompile",
    cause="fails: x.shape[3] == x.shape[2]",
    advice="use_duck_shape",
    never=("keep them on one side",),
    counts=(2, 1),
)  # fmt: skip
def square_images_first(run: Run) -> None:
    """The strides have the symbol, too, and fail with it."""
    weight = ones(4, 3, 3, 3)

    def convolved(x: Any) -> Any:
        return torch.nn.functional.conv2d(x, weight)  # cause

    compiled = run.compile(convolved, dynamic=True)
    with torch.fx.experimental._config.patch(use_duck_shape=not run.remedied):
        compiled(ones(2, 3, 5, 5))
        compiled(ones(4, 3, 6, 7))


@case(
    "", "why-recompile",
    cause="fails: y.shape[0] == x.shape[0]",
    advice="a symbol for each would not save the entry: keep them equal or different",
    never=("use_duck_shape",),
    counts=(2, 2),
)  # fmt: skip
def asked_whether_equal(run: Run) -> None:
    def alike(x: Any, y: Any) -> Any:
        return x + 1 if x.shape[0] == y.shape[0] else x - 1  # cause

    compiled = run.compile(alike, dynamic=True)
    with torch.fx.experimental._config.patch(use_duck_shape=not run.remedied):
        compiled(ones(5), ones(5))
        compiled(ones(6), ones(7))


@case(
    "", "why-recompile",
    cause="fails: y.shape[0] == x.shape[0]",
    advice="",
    never=("use_duck_shape",),
    counts=(2, 2),
)  # fmt: skip
def equal_and_then_one(run: Run) -> None:
    """Of a size of 1 Dynamo makes no symbol, whatever it was equal to."""

    def added(x: Any, y: Any) -> Any:
        return x + y  # cause

    compiled = run.compile(added, dynamic=True)
    with torch.fx.experimental._config.patch(use_duck_shape=not run.remedied):
        compiled(ones(5), ones(5))
        compiled(ones(5), ones(1))
