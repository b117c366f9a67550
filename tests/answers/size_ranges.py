"""Which sizes the conditions leave together: a range, or one value."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#122307", "why-shape", expression="x.shape[0]",
    cause=(
        "0/0 neither_more_nor_less.<locals>.in_two_directions: x.shape[0] is 5: it was the symbol",
        "requires s77 <= 5, by POP_JUMP",
        "requires s77 >= 5, by POP_JUMP",
        "0/1 neither_more_nor_less.<locals>.in_two_directions: x.shape[0] is free",
    ),
    counts=(2, 1),
    never=("never was a symbol",),
)  # fmt: skip
def neither_more_nor_less(run: Run) -> None:
    def in_two_directions(x: Any) -> Any:
        if x.shape[0] > 5:
            return x.cos()
        if not run.remedied and x.shape[0] < 5:  # cause
            return x * 2
        return x.sin()

    compiled = run.compile(in_two_directions, dynamic=True)
    for size in (5, 4):
        compiled(ones(size))


@case(
    "pytorch#141251", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is free within the conditions on it: the symbol s77, 2 to 8",
        "requires Eq(((s77 + 7)//8), 1)",
        "for the node split",
    ),
    counts=(1, 1),
    never=("was fixed",),
)  # fmt: skip
def split_and_put_back(run: Run) -> None:
    from torch._decomp import core_aten_decompositions
    from torch._dynamo.backends.common import aot_autograd

    def put_back(x: Any) -> Any:
        size = x.shape[0] if run.remedied else 8
        (part,) = torch.split(x, size)  # cause
        return torch.slice_scatter(x, part * 2, 0, 0, size)

    backend = aot_autograd(fw_compiler=run, decompositions=core_aten_decompositions())
    compiled = torch.compile(put_back, backend=backend, dynamic=True)
    for size in (8, 6) if run.remedied else (8,):
        compiled(ones(size))


@case(
    "pytorch#139474", "why-shape", expression="images.shape[2]",
    cause=(
        "images.shape[2] is free within the conditions on it: the symbol s14, 2 or more",
        "requires Eq((((s14 - s90 + 2)//4)) + 1, 4)",
        "for the node cat",
    ),
    counts=(1, 1),
    never=("was fixed",),
)  # fmt: skip
def features_of_a_fixed_size(run: Run) -> None:
    weight = ones(2, 3, 3, 3)

    def features(images: Any, kept: Any) -> Any:
        out = nn.functional.conv2d(images, weight, stride=4, padding=1)
        if run.remedied:
            return out * 2
        return torch.cat([out, kept], 1)  # cause

    compiled = run.compile(features, dynamic=True)
    kept = ones(1, 2, 4, 5)
    torch._dynamo.mark_static(kept)
    for size in (16, 24) if run.remedied else (16,):
        compiled(ones(1, 3, size, 18), kept)


@case(
    "pytorch#191833", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is 5: the conditions on sizes together leave nothing else",
        "requires s77 <= s27, by POP_JUMP",
        "requires s77 >= s27, by POP_JUMP",
        "requires Eq(s27 + s77, 10), by POP_JUMP",
        "0/0 was compiled for 5",
    ),
    counts=(2, 1),
    never=("x.shape[0] is 10 - s27",),
)  # fmt: skip
def fixed_by_three_lines(run: Run) -> None:
    def by_its_sides(x: Any) -> Any:
        high, wide = x.shape
        if run.remedied:
            return x + 1
        if high > wide:
            return x + 1
        if high < wide:
            return x - 1
        return x + 3 if high + wide == 10 else x + 2  # cause

    compiled = run.whole(by_its_sides)
    for size in (5, 6):
        x = ones(size, size)
        if size == 5:
            torch._dynamo.mark_dynamic(x, 0)
            torch._dynamo.mark_dynamic(x, 1)
        compiled(x)


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is 16: the conditions on sizes together leave nothing else",
        "requires s77 <= 30", "requires Eq(Mod(s77, 8), 0)", "requires s77 > 12",
        "requires s77 < 20",
    ),
    counts=(1, 1),
    never=("condition not shown", "conditions not shown"),
)  # fmt: skip
def size_left_by_many_conditions(run: Run) -> None:
    """As many as are asked have to do with it."""

    def stepped_by_size(x: Any) -> Any:
        size = x.shape[0]
        for bound in range(30, 20, -1):
            if size > bound:
                x = x + bound
        if size % 8 == 0 and size > 12:
            x = x * 2
        return x + 1 if size < 20 else x

    run.compile(stepped_by_size, dynamic=True)(ones(16))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is free: the symbol s77, 2 to 21", "requires s77 <= 21", "2 earlier"),
    counts=(1, 1),
)  # fmt: skip
def size_below_many_bounds(run: Run) -> None:
    """The last condition is the one that holds."""

    def bounded_by_size(x: Any) -> Any:
        for bound in range(30, 20, -1):
            if x.shape[0] > bound:
                x = x + bound
        return x

    run.compile(bounded_by_size, dynamic=True)(ones(16))


@case(
    "", "why-shape", expression="sequence.shape[0]",
    cause="sequence.shape[0] is 33: the conditions on sizes together leave nothing else",
    counts=(2, 1),
    never=("is free",),
)  # fmt: skip
def length_in_a_float(run: Run) -> None:
    def in_windows(sequence: Any) -> Any:
        assert sequence.shape[0] < 100
        windows = sequence.shape[0] / 16
        if not run.remedied and windows.is_integer():  # cause
            return sequence
        return sequence[: math.floor(windows) * 16]

    compiled = run.compile(in_windows, dynamic=True)
    for size in (33, 40):
        compiled(ones(size))


@case(
    "", "why-shape", expression="pair.shape[0]",
    cause=(
        "pair.shape[0] is 6: the conditions on sizes together leave nothing else",
        "pair_of_three: return left.view(3) + right",
    ),
    counts=(1, 1),
    never=("is free",),
)  # fmt: skip
def size_of_two_halves(run: Run) -> None:
    @run.compile
    def pair_of_three(pair: Any) -> Any:
        left, right = pair.chunk(2)
        return left.view(3) + right

    halves = ones(6)
    torch._dynamo.mark_dynamic(halves, 0)
    pair_of_three(halves)


def handing_on(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator as libraries have them around their models' `forward`."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def bounded(run: Run) -> nn.Module:
    """A model that asks whether its input is a long one."""

    class Bounded(nn.Module):
        @handing_on
        def forward(self, ids: Any, mask: Any = None) -> Any:
            if not run.remedied and ids.shape[1] > 6:  # the line of the cause
                return ids * 2
            return ids + 1

    return Bounded()


@case(
    "", "why-shape", expression="ids.shape[1]", function="handing_on.<locals>.wrapper",
    cause=(
        "Bounded.forward, wrapper of handing_on: ids.shape[1] is free: the symbol s81, 2 to 6",
        "requires s81 <= 6, by POP_JUMP",
    ),
    counts=(2, 1),
    never=("args[1]",),
)  # fmt: skip
def size_by_its_inner_name(run: Run) -> None:
    compiled = run.compile(bounded(run), dynamic=True)
    for length in (5, 7):
        compiled(ones(2, length), mask=None)
