"""Programs with sizes and values that are fixed, free or guarded, after what people reported."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


def replaced(x: Any) -> Any:
    return x.sin()


class Collector:
    items: list[Any] = []  # noqa: RUF012


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
    "pytorch#152918", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is 5: it was the symbol",
        "requires Eq(s77, 5), by BINARY_OP *",
        "for the node mul",
        "in infer_size",
    ),
    counts=(1, 1),
    never=("is free", "_check_with"),
)  # fmt: skip
def times_five_random_numbers(run: Run) -> None:
    def noisy(x: Any) -> Any:
        return torch.randn(x.shape[0] if run.remedied else 5) * x  # cause

    compiled = run.compile(noisy, dynamic=True)
    for size in (5, 6) if run.remedied else (5,):
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
    "pytorch#174704", "why-shape", expression="x.shape[1]",
    cause=(
        "x.shape[1] is 4: it was the symbol",
        "requires Eq(s27, 4), by CALL 4",
        "for the node rms_norm",
    ),
    counts=(1, 1),
    never=("is free",),
)  # fmt: skip
def normed_by_its_weights(run: Run) -> None:
    norm = nn.RMSNorm(4)

    def normed(x: Any) -> Any:
        return norm(x)  # cause

    compiled = run.compile(normed, dynamic=True)
    for size in (3, 5):
        compiled(ones(size, 4))


@case(
    "pytorch#105279", "why-shape", expression="source.shape[0]",
    cause=(
        "0/0 unrolled_over_time.<locals>.unrolled: source.shape[0] is 4: it was the symbol",
        "requires Eq(s38, 4), by CALL 1",
        "0/1 unrolled_over_time.<locals>.unrolled: source.shape[0] is 6: it was the symbol",
    ),
    counts=(2, 1),
    never=("is free",),
)  # fmt: skip
def unrolled_over_time(run: Run) -> None:
    weight = nn.Parameter(ones(3, 3))

    def unrolled(source: Any) -> Any:
        state = torch.zeros(3)
        if run.remedied:
            return source @ weight
        for at in range(source.shape[0]):  # cause
            state = torch.tanh(source[at] @ weight + state)
        return state

    compiled = run.compile(unrolled, dynamic=True)
    for size in (4, 6):
        compiled(ones(size, 3))


@case(
    "pytorch#141594", "why-shape", expression="length",
    cause=(
        "length never was a symbol: CONSTANT_MATCH requires 10",
        "length never was a symbol: CONSTANT_MATCH requires 20",
    ),
    counts=(2, 1),
    never=("is free", "was fixed"),
)  # fmt: skip
def length_of_a_mask(run: Run) -> None:
    def mask(x: Any, length: Any) -> Any:
        return x + torch.arange(length).sum()  # cause

    compiled = run.compile(mask, dynamic=run.remedied)
    for length in (10, 20):
        compiled(ones(2), length)


@case(
    "pytorch#150222", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is free: the symbol s77, 0 or more",
        "the same symbol as y.shape[0]: they had the same value, 1 (duck shaping)",
    ),
    counts=(1, 1),
    never=("was fixed", "0/1 specialization"),
)  # fmt: skip
def oblivious_of_one(run: Run) -> None:
    def summed(x: Any, y: Any) -> Any:
        return x.sum() + y.sum()

    compiled = run.compile(summed, dynamic=True)
    with torch.fx.experimental._config.patch(backed_size_oblivious=True):
        compiled(ones(1, 3), ones(1, 4))
        compiled(ones(5, 3), ones(5, 4))


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
    "pytorch#147219", "why-shape", expression="weight.shape[0]",
    cause="weight.shape[0] never was a symbol: TENSOR_MATCH requires 4",
    counts=(2, 1),
    never=("is free", "marked by mark_dynamic"),
)  # fmt: skip
def parameter_that_is_marked(run: Run) -> None:
    torch._dynamo.config.force_parameter_static_shapes = not run.remedied

    @run.compile
    def halved(weight: Any) -> Any:
        return weight / 2

    for size in (4, 6):
        weight = nn.Parameter(ones(size))
        torch._dynamo.mark_dynamic(weight, 0)
        halved(weight)


@case(
    "pytorch#98928", "is-guarded", expression="self.foo",
    cause="self.foo is guarded: it must be True",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def attribute_of_a_flow(run: Run) -> None:
    class Flow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.foo = True

        def forward(self, x: Any) -> Any:
            return x * 2 if self.foo else x * 3

    flow = Flow()
    compiled = run.compile(flow)
    compiled(ones(1))
    flow.foo = run.remedied
    compiled(ones(1))


@case(
    "pytorch#124357", "is-guarded", expression="self.value",
    cause="self.value is guarded: it must be 6",
    counts=(2, 1),
    never=("not guarded", "is free"),
)  # fmt: skip
def value_set_by_a_method(run: Run) -> None:
    class Toy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.value = -1
            self.cache = ones(2, 3)

        def change(self, value: int) -> None:
            self.value = value

        def forward(self) -> Any:
            return self.cache + self.value

    toy = Toy()
    compiled = run.compile(toy)
    for value in (6, 6 if run.remedied else 8):
        toy.change(value)
        compiled()


@case(
    "pytorch#115774", "is-guarded", expression="self.cache",
    cause="its value is an input of the graph (l_self_cache)",
    counts=(1, 1),
    never=("not guarded",),
)  # fmt: skip
def cache_that_is_replaced(run: Run) -> None:
    class Cached(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cache = torch.zeros(2)

        def forward(self, x: Any, at: Any) -> Any:
            self.cache[at] = x
            return self.cache

    model = Cached()
    compiled = run.compile(model)
    compiled(ones(1), torch.tensor([0]))
    if not run.remedied:
        model.cache = torch.zeros(2)
    compiled(ones(1), torch.tensor([1]))


@case(
    "pytorch#169253", "is-guarded", expression="len(Collector.items)",
    cause=(
        "len(Collector.items) is guarded: it must be 0",
        "len(Collector.items) is guarded: it must be 1",
    ),
    counts=(2, 1),
    never=("as it was", "not guarded"),
)  # fmt: skip
def list_of_a_class(run: Run) -> None:
    @run.compile
    def collected(x: Any) -> Any:
        Collector.items.append(x)
        return x * len(Collector.items)

    Collector.items.clear()
    collected(ones(2))
    if run.remedied:
        Collector.items.clear()
    collected(ones(2))
    Collector.items.clear()


@case(
    "pytorch#117265", "is-guarded", expression="layer.forward",
    cause="layer.forward is guarded: no attribute of its own may hide the one of its class",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def forward_of_an_instance(run: Run) -> None:
    layer = nn.Linear(3, 3)

    @run.compile
    def through(x: Any) -> Any:
        return layer(x)

    through(ones(3))
    if not run.remedied:
        layer.forward = lambda x: x * 3  # type: ignore[method-assign]
    through(ones(3))


@case(
    "pytorch#178365", "is-guarded", expression="mask.__defaults__[0]",
    cause=(
        "mask.__defaults__[0] is guarded: it must be 0.5",
        "mask.__defaults__[0] is free within the conditions on it",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def offset_of_a_mask(run: Run) -> None:
    @run.compile
    def masked(x: Any, mask: Any) -> Any:
        return torch.where(mask(x), x, 0)

    def made(start: float) -> Any:
        return lambda x, offset=start: x > offset

    masked(ones(3), made(0.5))
    masked(ones(3), made(0.5 if run.remedied else 2.5))


@case(
    "transformers#29114", "is-guarded", expression="self.seen_tokens",
    cause=(
        "self.seen_tokens is guarded: it must be 4",
        "self.seen_tokens is free: it is the symbol",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def tokens_seen(run: Run) -> None:
    class Cache:
        def __init__(self) -> None:
            self.seen_tokens = 4

        def update(self, x: Any) -> Any:
            self.seen_tokens += x.shape[0]
            return x * self.seen_tokens

    cache = Cache()
    updated = run.compile(cache.update)
    updated(ones(2))
    if run.remedied:
        cache.seen_tokens = 4
    updated(ones(2))


@case(
    "pytorch#166268", "is-guarded", expression="torch.is_autocast_enabled()",
    cause="torch.is_autocast_enabled() is guarded, with other global state",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def state_of_autocast(run: Run) -> None:
    @run.compile
    def product(x: Any) -> Any:
        return x @ x

    product(ones(2, 2))
    with torch.autocast("cpu", enabled=not run.remedied):
        product(ones(2, 2))


@case(
    "pytorch#138942", "is-guarded", expression="self.norm._forward_pre_hooks",
    cause="self.norm._forward_pre_hooks is not guarded: Dynamo makes no check of modules' hooks",
    counts=(1, 1),
)  # fmt: skip
def hook_before_a_norm(run: Run) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(3)

        def forward(self, x: Any) -> Any:
            return self.norm(x)

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    if not run.remedied:
        net.norm.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    compiled(ones(3))


@case(
    "pytorch#108898", "is-guarded", expression="replaced",
    cause="only the code of replaced is guarded",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def function_of_the_module(run: Run) -> None:
    global replaced

    @run.compile
    def through(x: Any) -> Any:
        return replaced(x)

    before = replaced
    through(ones(2))
    if not run.remedied:
        replaced = lambda x: x.cos()
    through(ones(2))
    replaced = before


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


@case(
    "pytorch#131893", "is-guarded", expression="y.shape[0]",
    cause="y.shape[0] is not guarded: no guard of 1 entry looks at it",
    counts=(1, 1),
    never=("is guarded",),
)  # fmt: skip
def tensor_that_is_not_used(run: Run) -> None:
    @run.compile
    def doubled(x: Any, y: Any) -> Any:
        kept = y  # noqa: F841
        return x * 2

    for size in (4, 4 if run.remedied else 6):
        doubled(ones(3), ones(size))


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
