"""Caches of keys and values, as models that generate have them: they grow, fill up and have a
position."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@case(
    "", "why-recompile",
    cause=(
        "past[0][0].shape[1] changes: 3, 4, and of 1 other  (1 of 2)",
        "past changes: None",
        "(1 of 2)",
    ),
    advice="Dynamo has made past[0][0].shape[1] a symbol by itself",
    counts=(3, 2),
    never=("(2 of 2)",),
)  # fmt: skip
def cache_that_grows_by_one(run: Run) -> None:
    """What the first entry was made for, the second serves."""

    @run.compile
    def attended(x: Any, past: Any) -> Any:
        if past is not None:
            keys = torch.cat([past[0][0], x], 1)  # cause
            return x + keys.sum(), [(keys, torch.cat([past[0][1], x], 1))]
        return x + x.sum(), [(x, x * 2)]

    past = None
    for step in range(5):
        _, past = attended(ones(1, 1 if step else 3, 4), past)
        if run.remedied:
            for each in past[0]:
                torch._dynamo.mark_dynamic(each, 1)


@case(
    "transformers#37908", "why-recompile",
    cause=("length of cache.keys changes: 0, 2", "cache.keys[0].shape[0]: expected 2, actual 4"),
    advice="cache.keys is changed by the compiled function itself",
    counts=(3, 1),
)  # fmt: skip
def cache_of_lists(run: Run) -> None:
    class Cache:
        def __init__(self) -> None:
            self.keys: list[Any] = []

        def update(self, key: Any, layer: int) -> Any:
            if len(self.keys) <= layer:  # cause
                self.keys.append(key)
            else:
                self.keys[layer] = torch.cat([self.keys[layer], key])
            return self.keys[layer]

    class Model(nn.Module):
        def forward(self, x: Any, cache: Cache) -> Any:
            return sum(cache.update(x * (layer + 1), layer).sum() for layer in range(2))

    model = run.compile(Model())
    cache = Cache()
    if run.remedied:
        cache.keys = [torch.zeros(2, 2), torch.zeros(2, 2)]
        for key in cache.keys:
            torch._dynamo.mark_dynamic(key, 0)
    for _ in range(4):
        model(ones(2, 2), cache)


@case(
    "torchtune#1663", "why-recompile",
    cause="self.filled grows: 0, 1, 2",
    advice="constant of the graph. torch._dynamo.config.allow_unspec_int_on_nn_module = True makes",
    counts=(3, 2),
)  # fmt: skip
def place_in_a_cache(run: Run) -> None:
    """In a tensor it would break the graph, as it bounds a slice."""

    class Kept(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.keys: torch.Tensor
            self.register_buffer("keys", torch.zeros(8, 2))
            self.filled = 0

        def forward(self, x: Any) -> Any:
            self.keys[self.filled : self.filled + 1] = x  # cause
            self.filled += 1
            return self.keys.sum(0)

    with torch._dynamo.config.patch(allow_unspec_int_on_nn_module=run.remedied):
        kept = run.compile(Kept())
        for _ in range(3):
            kept(ones(1, 2))


@case(
    "", "why-recompile",
    cause="length of block_ids changes: 2, 3",
    advice="The length of a container is a constant of the graph: hand over block_ids",
    counts=(2, 1),
    never=("To save the entry",),
)  # fmt: skip
def blocks_of_a_request(run: Run) -> None:
    """Another request has other blocks, too: as symbols they would save no entry."""

    @run.compile
    def gathered(cache: Any, block_ids: Any) -> Any:
        return torch.cat([cache[each] for each in block_ids])  # cause

    cache = torch.arange(12.0).view(6, 2)
    for block_ids in ([2, 3], [2, 3] if run.remedied else [4, 5, 3]):
        gathered(cache, block_ids)


@case(
    "", "why-recompile",
    cause="self.cache.shape[1] changes: 1, 2",
    advice="begin with one of which the size is 2 or more",
    counts=(2, 1),
    never=("mark_unbacked",),
    function="Remembering",
)  # fmt: skip
def cache_that_begins_with_one(run: Run) -> None:
    class Remembering(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cache: Any = ones(1, 2 if run.remedied else 1, 7)

        def forward(self, x: Any) -> Any:
            self.cache = torch.cat([self.cache, x], 1)  # cause
            return self.cache.sum(1)

    remembering = run.compile(Remembering(), dynamic=True)
    for _ in range(4):
        remembering(ones(1, 1, 7))


@case(
    "", "why-recompile",
    cause=(
        "past[0].shape[1] grows: 4, 5, 6", "identity of past[1] changes: past[0], another object",
    ),
    advice="Dynamo has made past[0].shape[1] and past[1].shape[1] symbols by itself",
    counts=(3, 2),
    never=("is a symbol until", "needs its value"),
)  # fmt: skip
def keys_that_are_the_values_at_first(run: Run) -> None:
    """The second call has a tensor more, of which the size is a number there, and so all are."""

    @run.compile
    def attended(query: Any, past: Any) -> Any:
        keys, values = past
        return torch.softmax(query @ keys.mT, -1) @ values  # cause

    keys = values = ones(2, 4, 8)
    for _ in range(4):
        if run.remedied:
            torch._dynamo.mark_dynamic(keys, 1)
            torch._dynamo.mark_dynamic(values, 1)
        attended(ones(2, 1, 8), (keys, values))
        keys = torch.cat([keys, ones(2, 1, 8)], 1)
        values = torch.cat([values, ones(2, 1, 8)], 1)


class Filled:
    """A cache that says how much of it is filled."""

    def __init__(self, length: int) -> None:
        self.keys = torch.zeros(1, 32, 4)
        self.length = length

    def append(self, keys: Any) -> Any:
        """All keys so far."""
        count = keys.shape[1]
        self.keys[:, self.length : self.length + count] = keys
        self.length += count
        return self.keys[:, : self.length]


@case(
    "", "why-recompile",
    cause=("x.shape[1] changes: 5, 1", "cache.length changes: 0, 5"),
    advice="cache.length is a symbol by now, and 0 takes an entry of its own all the same",
    counts=(2, 1),
    never=("Ne(s",),
)  # fmt: skip
def prompt_into_an_object(run: Run) -> None:
    """Nothing can be done for the one thing that does not have to be done for the other."""

    def next_of(x: Any, cache: Any) -> Any:
        return (x @ cache.append(x).mT).softmax(-1)

    next_of = run.compile(next_of, dynamic=True if run.remedied else None)

    cache = Filled(5 if run.remedied else 0)
    if not run.remedied:
        next_of(ones(1, 5, 4), cache)
    for _ in range(3):
        next_of(ones(1, 1, 4), cache)


class Pages:
    """Full after two."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.seen = 0

    def add(self, x: Any) -> Any:
        if self.seen % 2 == 0:
            self.kept.append(x)
        else:
            self.kept[-1] = torch.cat([self.kept[-1], x])
        self.seen += 1
        return torch.cat(self.kept)


@case(
    "", "why-recompile",
    cause="length of pages.kept grows: 0, 1, 2",
    advice="pages.kept is changed by the compiled function itself",
    counts=(4, 2),
    never=("mark_unbacked",),
)  # fmt: skip
def pages_of_a_cache_of_ones_own(run: Run) -> None:
    """Nobody can mark a page before the first call: there is none."""
    pages = Pages()

    @run.compile
    def attended(x: Any, keys: Any) -> Any:
        return x * (pages.add(x) if keys is None else keys).sum()

    for _ in range(4):
        attended(ones(1), pages.add(ones(1)) if run.remedied else None)


class Memory(nn.Module):
    kept: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.length = 0
        self.register_buffer("kept", torch.zeros(16, 4))

    def written(self, x: Any) -> None:
        self.kept[: x.shape[0]] = x
        self.length = self.length + x.shape[0]

    def compared(self, x: Any) -> Any:
        return x @ self.kept[: self.length].T  # cause


@case(
    "", "why-recompile",
    cause=(
        "self.length grows: 2, 4, 6",
        "a compiled method sets that of its self: tests/answers/kv_caches.py",
    ),
    advice="torch._dynamo.config.allow_unspec_int_on_nn_module = True",
    counts=(6, 4),
    function="Memory.compared",
)  # fmt: skip
def length_that_another_method_sets(run: Run) -> None:
    with torch._dynamo.config.patch(allow_unspec_int_on_nn_module=run.remedied):
        memory = Memory()
        write, read = run.compile(memory.written), run.compile(memory.compared)
        for _ in range(3):
            write(ones(2, 4))
            read(ones(1, 4))


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
    "", "why-shape", expression="kept.keys.shape[0]",
    cause=(
        "kept.keys.shape[0] is free",
        "the function itself makes kept.keys.shape[0] s",
        " + 1, at",
    ),
    counts=(3, 3),
)  # fmt: skip
def size_that_grows_inside(run: Run) -> None:
    class Kept:
        keys = ones(3)

    @run.compile
    def appended(kept: Any, x: Any) -> Any:
        kept.keys = torch.cat([kept.keys, x])  # cause
        return kept.keys.sum()

    kept = Kept()
    for _ in range(3):
        appended(kept, ones(1))


@case(
    "", "why-shape", expression="self.cache.shape[1]",
    cause=(
        "self.cache.shape[1] never was a symbol: TENSOR_MATCH requires 4",
        "it was 2 in ", "force_parameter_static_shapes is off",
    ),
    counts=(3, 2),
)  # fmt: skip
def buffer_that_grows(run: Run) -> None:
    config.force_parameter_static_shapes = not run.remedied

    class Cached(nn.Module):
        cache: Any

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("cache", ones(2, 2))

        def forward(self, x: Any) -> Any:
            return x * self.cache.sum()  # cause

    cached = Cached()
    compiled = run.compile(cached)
    for size in (2, 3, 4):
        cached.cache = ones(2, size)
        compiled(ones(3))


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
    "", "why-recompile",
    cause=(
        "k.stride()[0] == 8*k.shape[1] does not hold",
        "hand over k.clone(memory_format=torch.contiguous_format)",
    ),
    advice="Dynamo has made k.shape[1] a symbol by itself",
    counts=(3, 2),
    never=("e.g. k.contiguous()",),
)  # fmt: skip
def cache_that_slides(run: Run) -> None:
    @run.compile
    def attended_to_the_last(q: Any, k: Any) -> Any:
        return (q @ k.transpose(-1, -2)).softmax(-1)

    k = ones(1, 3, 8)
    for _ in range(4):
        k = torch.cat([k, ones(1, 1, 8)], 1)[:, -5:]
        if run.remedied:
            k = k.clone(memory_format=torch.contiguous_format)
        attended_to_the_last(ones(1, 1, 8), k)
