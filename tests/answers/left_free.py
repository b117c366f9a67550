"""Programs in which a size or a number stays free, and under which conditions."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "bounded: x.shape[0] is free within the conditions on it: the symbol s77, 2",
        "requires Min(6, s77) <= s77",
    ),
    counts=(2, 2),
    never=("was fixed",),
)  # fmt: skip
def at_most_a_size(run: Run) -> None:
    @run.compile
    def bounded(x: Any) -> Any:
        return x[: min(x.shape[0], 6)] * max(x.shape[0], 2)

    for size in (3, 4, 9):
        bounded(ones(size))


@case(
    "pytorch#186893", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is 1: a size of 0 or 1 becomes a number (0/1 specialization)",
        "mark_unbacked(tensor, dim)",
        "0/1 batch_of_one.<locals>.doubled: x.shape[0] is free",
    ),
    counts=(2, 1),
    never=("was fixed", "never was a symbol"),
)  # fmt: skip
def batch_of_one(run: Run) -> None:
    def doubled(x: Any) -> Any:
        return x * 2  # cause

    compiled = run.compile(doubled, dynamic=True)
    for size in (1, 4):
        x = ones(size, 3)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(x, 0)
        compiled(x)


@case(
    "pytorch#129456", "why-shape", expression="y.shape[0]",
    cause=(
        "y.shape[0] is free: the symbol s77",
        "the same symbol as x.shape[0]: they had the same value, 4 (duck shaping)",
        "y.shape[0] is free: the symbol s17",
    ),
    counts=(2, 1),
    never=("was fixed",),
)  # fmt: skip
def same_symbol(run: Run) -> None:
    def sums(x: Any, y: Any) -> Any:
        return x.sum() + y.sum()  # cause

    compiled = run.compile(sums, dynamic=True)
    with torch.fx.experimental._config.patch(use_duck_shape=not run.remedied):
        compiled(ones(4), ones(4))
        compiled(ones(5), ones(6))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is free within the conditions on it: the symbol s77, 2 or more",
        "requires Eq(Mod(s77, 4), 0)",
    ),
    counts=(1, 1),
    never=("was fixed",),
)  # fmt: skip
def rows_of_four(run: Run) -> None:
    def rows(x: Any) -> Any:
        return x.view(-1, 4)  # cause

    compiled = run.compile(rows, dynamic=True)
    for size in (8, 12, 16):
        compiled(ones(size))


@case(
    "pytorch#105533", "why-shape", expression="n",
    cause=(
        "n never was a symbol: CONSTANT_MATCH requires 2",
        "n is free within the conditions on it: the symbol s86, 0 to 6",
        "0/0 requires 2",
    ),
    counts=(2, 2),
    never=("was fixed", "not recorded"),
)  # fmt: skip
def position_written(run: Run) -> None:
    @run.compile
    def written(n: Any, a: Any) -> Any:
        a[n] = -1
        return a

    for n in (2, 3, 4):
        written(n, torch.zeros(7))


@case(
    "", "why-shape", expression="k",
    cause=(
        "k is free within the conditions on it: the symbol s16",
        "requires Eq(Mod(12, s16), 0)",
    ),
    counts=(2, 2),
    never=("was fixed", "not recorded"),
)  # fmt: skip
def int_of_the_view(run: Run) -> None:
    @run.compile
    def viewed_by(x: Any, k: Any) -> Any:
        return x.view(-1, k)  # cause

    for k in (3, 4, 6):
        viewed_by(ones(12), k)


@case(
    "", "why-shape", expression="rows",
    cause=(
        "rows never was a symbol: CONSTANT_MATCH requires 2",
        "rows is free within the conditions on it: the symbol s35",
        "requires Eq(Mod(12, s35), 0)",
    ),
    counts=(2, 2),
    never=("was fixed", "not recorded"),
)  # fmt: skip
def closure_in_the_view(run: Run) -> None:
    rows = 2

    @run.compile
    def by_rows(x: Any) -> Any:
        return x.view(rows, -1)  # cause

    for rows in (2, 3, 4):  # noqa: B007  # the function sees it
        by_rows(ones(12))


@case(
    "pytorch#159550", "why-shape", expression="x.shape[2]",
    cause="x.shape[2] is free: the symbol s53, 2 or more",
    counts=(1, 1),
    never=("was fixed", "requires"),
)  # fmt: skip
def pooled_by_the_backend(run: Run) -> None:
    from torch._decomp import core_aten_decompositions
    from torch._dynamo.backends.common import aot_autograd

    def pooled(x: Any) -> Any:
        return torch._adaptive_avg_pool2d(x, (3, 3))  # cause

    backend = aot_autograd(fw_compiler=run, decompositions=core_aten_decompositions())
    compiled = torch.compile(pooled, backend=backend, dynamic=True)
    for size in (7, 8):
        compiled(ones(1, 2, size, 9))


@case(
    "", "why-shape", expression="u0",
    cause=(
        "u0 has no value while it is compiled",
        "an operator's result depends on data",
    ),
    counts=(2, 2),
    never=("was fixed", "never was a symbol"),
)  # fmt: skip
def count_of_data(run: Run) -> None:
    torch._dynamo.config.capture_dynamic_output_shape_ops = True

    @run.compile
    def found(x: Any) -> Any:
        return x.nonzero() * 2  # cause

    for size in (3, 4):
        found(ones(size))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is free within the conditions on it: the symbol s77, 2 to 10",
        "requires Eq(s17 + s77, 12)",
        "s17 is y.shape[0]",
    ),
    counts=(1, 1),
    never=("was fixed",),
)  # fmt: skip
def together_twelve(run: Run) -> None:
    def joined(x: Any, y: Any) -> Any:
        return torch.cat([x, y]) + (1 if run.remedied else ones(12))  # cause

    compiled = run.compile(joined, dynamic=True)
    compiled(ones(5), ones(7))
    compiled(ones(4), ones(8))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is free within the conditions on it: the symbol s77",
        "requires Eq(Mod(s77, 2), 0)",
    ),
    counts=(1, 1),
    never=("was fixed",),
)  # fmt: skip
def checked_to_be_even(run: Run) -> None:
    def halved(x: Any) -> Any:
        torch._check(x.shape[0] % 2 == 0)  # cause
        return x[: x.shape[0] // 2]

    compiled = run.compile(halved, dynamic=True)
    for size in (4, 6):
        compiled(ones(size))


@case(
    "pytorch#123810", "why-shape", expression="x.shape[1]",
    cause="x.shape[1] is free: the symbol s27, 2 or more",
    counts=(1, 1),
    never=("was fixed", "requires"),
)  # fmt: skip
def mask_of_a_length(run: Run) -> None:
    def mask(x: Any) -> Any:
        _, length = x.shape
        return torch.full((length, length), -1.0)

    compiled = run.compile(mask, dynamic=True)
    for size in (3, 4, 5):
        compiled(ones(2, size))


@case(
    "pytorch#142507", "why-shape", expression="x.shape[0]",
    cause="0/1 membership.<locals>.Net.forward: x.shape[0] is free: the symbol s77",
    counts=(2, 2),
    never=("was fixed",),
)  # fmt: skip
def membership(run: Run) -> None:
    wanted = torch.tensor([0, 2, 4])

    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.isin(x, wanted)

    net = run.compile(Net())
    for size in (3, 4, 5, 6):
        net(torch.arange(size))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is s17: its symbol s77 was replaced",
        "requires Eq(s77, s17), by BINARY_OP +",
        "s17 is y.shape[0]",
    ),
    counts=(1, 1),
    never=("and was fixed",),
)  # fmt: skip
def equal_to_another(run: Run) -> None:
    def added(x: Any, y: Any) -> Any:
        return x + y  # cause

    compiled = run.compile(added, dynamic=True)
    with torch.fx.experimental._config.patch(use_duck_shape=False):
        compiled(ones(4), ones(4))
        compiled(ones(5), ones(5))


@case(
    "", "why-shape", expression="batch['x'].shape[0]",
    cause=(
        "batch['x'].shape[0] never was a symbol: TENSOR_MATCH requires 3",
        "batch['x'].shape[0] is free",
    ),
    counts=(2, 2),
    never=("was fixed",),
)  # fmt: skip
def size_in_a_batch(run: Run) -> None:
    @run.compile
    def summed(batch: Any) -> Any:
        return batch["x"].sum()

    for size in (3, 4, 5):
        summed({"x": ones(size)})


@case(
    "", "why-shape", expression="len(x)",
    cause=(
        "len(x) never was a symbol: TENSOR_MATCH requires 3",
        "x.shape[0] is free: the symbol s77",
    ),
    counts=(2, 2),
    never=("was fixed",),
)  # fmt: skip
def length_of_a_tensor(run: Run) -> None:
    @run.compile
    def divided(x: Any) -> Any:
        return x / len(x)

    for size in (3, 4, 5):
        divided(ones(size))


@case(
    "", "why-shape", expression="scale",
    cause=(
        "scale never was a symbol: CONSTANT_MATCH requires 0.5",
        "scale is free: the symbol zf",
        "0/0 requires 0.5",
    ),
    counts=(2, 2),
    never=("was fixed",),
)  # fmt: skip
def float_that_changes(run: Run) -> None:
    @run.compile
    def scaled(x: Any, scale: Any) -> Any:
        return x * scale

    for scale in (0.5, 0.6, 0.7):
        scaled(ones(3), scale)


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is free within the conditions on it: the symbol s77, 2 or more",
        "requires Eq(s77, TruncToInt(OpaqueUnaryFn_sqrt(ToFloat(s77)))**2)",
    ),
    counts=(1, 1),
)  # fmt: skip
def side_of_a_square(run: Run) -> None:
    def square(x: Any) -> Any:
        side = int(math.sqrt(x.shape[0]))
        return x.view(side, side)  # cause

    run.compile(square, dynamic=True)(ones(16))


@case(
    "pytorch#95868", "why-shape", expression="shape[0]",
    cause=(
        "shape[0] never was a symbol: CONSTANT_MATCH requires 2",
        "shape[0] is free within the conditions on it: the symbol s86, 0 or more",
        "requires Eq(s52*s86, 12)",
    ),
    counts=(2, 2),
    never=("was fixed",),
)  # fmt: skip
def ints_of_a_list(run: Run) -> None:
    @run.compile
    def unflattened(x: Any, shape: Any) -> Any:
        return x.view(shape)

    for rows in (2, 3, 6):
        unflattened(ones(12), [rows, 12 // rows])


@case(
    "pytorch#149635", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is free: the symbol s77, 2 or more", "it was marked by mark_dynamic"),
    counts=(1, 1),
    never=("was fixed", "requires"),
)  # fmt: skip
def padded_to_a_least_size(run: Run) -> None:
    @run.compile
    def padded(x: Any) -> Any:
        least = torch.sym_max if run.remedied else max
        return ones(least(x.shape[0], 16)) + x.sum()  # cause

    for size in (15, 17):
        x = torch.arange(size)
        torch._dynamo.mark_dynamic(x, 0)
        padded(x)
