"""Programs that are compiled again because of sizes of tensors and of numbers made from them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#106067", "why-recompile",
    cause="x.shape[0] changes: 0, 2",
    advice="mark_unbacked(x, 0)",
    counts=(2, 1),
)  # fmt: skip
def empty_at_first(run: Run) -> None:
    @run.compile
    def adds_to_the_second(x: Any, y: Any) -> Any:
        return y + 2 if x is not None else y  # cause

    for size in (0, 2):
        x = ones(size)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(x, 0)
        adds_to_the_second(x, ones(2))


@case(
    "flashdreams#257", "why-recompile",
    cause=("cache.cached changes: 2, 4", "0 <= cache.cached <= 6"),
    advice="has made cache.cached an input of the graph by itself",
    counts=(3, 2),
)  # fmt: skip
def cache_that_is_full(run: Run) -> None:
    class BlockCache:
        def __init__(self) -> None:
            self.cached = 3
            self.keys = torch.zeros(9)

    @run.compile
    def update(cache: Any, x: Any) -> Any:
        if run.remedied:
            start = torch.sym_min(cache.cached, 6)
        else:
            start = 6 if cache.cached >= 9 else cache.cached  # cause
        return cache.keys.narrow(0, start, 3) + x

    cache = BlockCache()
    for cached in (2, 4, 6, 9):
        cache.cached = cached
        update(cache, ones(3))


@case(
    "torchtune#1663", "why-recompile",
    cause="self.size grows: 4, 5, 6, 7",
    advice="in a tensor (register_buffer)",
    counts=(4, 1),
)  # fmt: skip
def position_in_a_cache(run: Run) -> None:
    class KVCache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.size = torch.tensor(4) if run.remedied else 4

        def forward(self, x: Any) -> Any:
            self.size += 1  # cause
            return x + self.size

    cache = run.compile(KVCache())
    for _ in range(4):
        cache(ones(3))


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="needs its value",
    counts=(3, 2),
)  # fmt: skip
def size_in_a_text(run: Run) -> None:
    table = {str(each): each for each in range(3, 7)}

    @run.compile
    def looked_up(x: Any) -> Any:
        if run.remedied:
            return x * x.shape[0]
        return x * table[f"{x.shape[0]}"]  # cause

    for size in (3, 4, 5):
        looked_up(ones(size))


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="needs its value",
    counts=(3, 2),
)  # fmt: skip
def size_as_an_index(run: Run) -> None:
    weights = [ones(1)] * 8
    stacked = torch.stack(weights)

    @run.compile
    def weighted_by_size(x: Any) -> Any:
        if run.remedied:
            return x * stacked[x.shape[0]]
        return x * weights[int(x.shape[0])]  # cause

    for size in (3, 4, 5):
        weighted_by_size(ones(size))


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


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="With dynamic=False, or automatic_dynamic_shapes off, each size is compiled by itself",
    counts=(3, 1),
)  # fmt: skip
def static_in_torch_compile(run: Run) -> None:
    def plus_one(x: Any) -> Any:
        return x + 1  # cause

    compiled = run.compile(plus_one, dynamic=None if run.remedied else False)
    for size in (3, 4, 5):
        x = ones(size)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        compiled(x)


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="leave the mark out, or outweigh it by torch._dynamo.mark_dynamic(x, 0)",
    counts=(3, 1),
)  # fmt: skip
def marked_static(run: Run) -> None:
    @run.compile
    def minus_one(x: Any) -> Any:
        return x - 1  # cause

    for size in (3, 4, 5):
        x = ones(size)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        else:
            torch._dynamo.mark_static(x, 0)
        minus_one(x)


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 16, 7",
    advice="torch._dynamo.mark_dynamic(x, 0)",
    counts=(2, 1),
)  # fmt: skip
def last_batch(run: Run) -> None:
    @run.compile
    def of_a_batch(x: Any) -> Any:
        return x.sum(0)  # cause

    data = torch.utils.data.TensorDataset(ones(39, 2))
    for (x,) in torch.utils.data.DataLoader(data, batch_size=16, drop_last=run.remedied):
        of_a_batch(x)


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


@case(
    "dion#23", "why-recompile",
    cause="parameter.shape[0] grows: 2, 3, 4",
    advice="force_parameter_static_shapes",
    counts=(3, 2),
)  # fmt: skip
def sizes_of_parameters(run: Run) -> None:
    torch._dynamo.config.force_parameter_static_shapes = not run.remedied

    @run.compile
    def orthogonalized(parameter: Any) -> Any:
        return parameter * 2  # cause

    for size in (2, 3, 4):
        orthogonalized(nn.Parameter(ones(size)))


@case(
    "", "why-recompile",
    cause="fails: 2 <= x.shape[0]",
    advice="where that is the program's own tensor, since a library calls this function",
    counts=(2, 1),
)  # fmt: skip
def rows_that_a_pool_hands_over(run: Run) -> None:
    def squared_rows(x: Any) -> Any:
        return x * x  # cause

    compiled = run.compile(squared_rows, dynamic=None if run.remedied else True)
    with ThreadPoolExecutor(1) as pool:
        for size in (4, 1):
            x = ones(size, 3)
            if run.remedied:
                torch._dynamo.decorators.mark_unbacked(x, 0)
            pool.submit(compiled, x).result()
