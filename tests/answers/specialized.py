"""Programs in which a size or a number is fixed, and what fixes it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#99091", "why-shape", expression="t",
    cause=(
        "t never was a symbol: CONSTANT_MATCH requires 2",
        "t is 3: it was the symbol",
        "because it had another value before",
        "requires Eq(s57, 3), by BINARY_SUBSCR",
    ),
    counts=(3, 2),
    never=("not recorded", "is free"),
)  # fmt: skip
def position_in_a_list(run: Run) -> None:
    weights = [ones(1)] * 8

    @run.compile
    def scanned(x: Any, t: Any) -> Any:
        return x * (t if run.remedied else weights[t])  # cause

    for t in (2, 3, 4):
        scanned(ones(3), t)


@case(
    "pytorch#111263", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] never was a symbol: TENSOR_MATCH requires 3",
        "x.shape[0] is 4: it was the symbol",
        "requires Eq(s77, 4), by BINARY_SUBSCR",
    ),
    counts=(3, 2),
    never=("is free",),
)  # fmt: skip
def size_as_a_key(run: Run) -> None:
    scales = {size: 1 / size for size in range(2, 9)}

    @run.compile
    def scaled(x: Any) -> Any:
        if run.remedied:
            return x / x.shape[0]
        return x * scales[x.shape[0]]  # cause

    for size in (3, 4, 5):
        scaled(ones(size))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is 4: it was the symbol",
        "requires Eq(s77, 4), by BUILD_STRING",
    ),
    counts=(3, 2),
    never=("is free",),
)  # fmt: skip
def size_in_a_name(run: Run) -> None:
    @run.compile
    def named(x: Any) -> Any:
        bucket = "bucket" if run.remedied else f"bucket{x.shape[0]}"  # cause
        return x * len(bucket)

    for size in (3, 4, 5):
        named(ones(size))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is 4: it was the symbol",
        "requires Eq(s77, 4), by CALL 2",
    ),
    counts=(3, 2),
    never=("is free",),
)  # fmt: skip
def loop_over_a_size(run: Run) -> None:
    @run.compile
    def looped(x: Any) -> Any:
        if run.remedied:
            return x.cumsum(0)
        total = x[0]
        for at in range(1, x.shape[0]):  # cause
            total = total + x[at]
        return total

    for size in (3, 4, 5):
        looped(ones(size))


@case(
    "", "why-shape", expression="x.shape[1]",
    cause=(
        "x.shape[1] is 4: it was the symbol",
        "requires Eq(s27, 4), by BINARY_OP @",
        "for the node matmul",
    ),
    counts=(1, 1),
    never=("is free",),
)  # fmt: skip
def times_a_parameter(run: Run) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(ones(4, 2))

        def forward(self, x: Any) -> Any:
            return x @ self.weight  # cause

    net = run.compile(Net(), dynamic=True)
    for size in (3, 5):
        net(ones(size, 4))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is 6: it was the symbol",
        "requires Eq(s77, 6), by CALL 2",
        "for the node view",
    ),
    counts=(1, 1),
    never=("is free",),
)  # fmt: skip
def viewed_as_a_matrix(run: Run) -> None:
    def viewed(x: Any) -> Any:
        return x.view(2, -1 if run.remedied else 3)  # cause

    compiled = run.compile(viewed, dynamic=True)
    for size in (6, 8) if run.remedied else (6,):
        compiled(ones(size))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "0/0 asked_whether_it_is_eight.<locals>.asked: x.shape[0] is 8: it was the symbol",
        "requires Eq(s77, 8), by POP_JUMP",
        "0/1 asked_whether_it_is_eight.<locals>.asked: x.shape[0] is free",
        "requires Ne(s77, 8)",
    ),
    counts=(2, 1),
    never=("never was a symbol",),
)  # fmt: skip
def asked_whether_it_is_eight(run: Run) -> None:
    def asked(x: Any) -> Any:
        if not run.remedied and x.shape[0] == 8:  # cause
            return x + 1
        return x * 2

    compiled = run.compile(asked, dynamic=True)
    for size in (8, 9, 10):
        compiled(ones(size))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause="x.shape[0] is 3: the program has marked it as static (mark_static)",
    counts=(2, 1),
    never=("is free", "was fixed"),
)  # fmt: skip
def kept_static(run: Run) -> None:
    def doubled(x: Any) -> Any:
        return x * 2

    compiled = run.compile(doubled, dynamic=True)
    for size in (3, 4):
        x = ones(size, 2)
        if not run.remedied:
            torch._dynamo.mark_static(x, 0)
        compiled(x)


TOKENS = 8


@case(
    "pytorch#161119", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is 4: it was the symbol",
        "requires Eq(s77, 4), by CALL 2",
        "for the node split",
    ),
    counts=(3, 2),
    never=("is free",),
)  # fmt: skip
def split_by_a_global(run: Run) -> None:
    global TOKENS

    @run.compile
    def split(x: Any) -> Any:
        size = x.shape[0] if run.remedied else TOKENS
        return torch.split(x, [0, size])[1]  # cause

    for tokens in (8, 4, 3):
        TOKENS = tokens
        split(ones(tokens))


@case(
    "", "why-shape", expression="n.item()",
    cause=(
        "n.item() is 4: it was the symbol s33, and was fixed",
        "requires Eq(s33, 4), by CALL 1",
    ),
    counts=(1, 1),
    never=("is free",),
)  # fmt: skip
def item_that_is_checked(run: Run) -> None:
    torch._dynamo.config.capture_scalar_outputs = True

    @run.compile
    def checked(n: Any, x: Any) -> Any:
        size = n.item()
        if not run.remedied:
            torch._check(size == 4)  # cause
        return x.view(size, -1)

    for size in (4, 2) if run.remedied else (4,):
        checked(torch.tensor(size), ones(8))


@case(
    "", "why-shape", expression="x.shape[1]",
    cause=(
        "x.shape[1] is 6: it was the symbol",
        "requires Eq(s27, 6), by BINARY_OP +",
    ),
    counts=(1, 1),
    never=("is free",),
)  # fmt: skip
def table_of_positions(run: Run) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(ones(6))

        def forward(self, x: Any) -> Any:
            if run.remedied:
                return x + self.table[: x.shape[1]]
            return x + self.table  # cause

    net = run.compile(Net(), dynamic=True)
    for size in (4, 5) if run.remedied else (6,):
        net(ones(2, size))


@case(
    "pytorch#115711", "why-shape", expression="self.step",
    cause=(
        "self.step never was a symbol: EQUALS_MATCH requires 2",
        "self.step never was a symbol: EQUALS_MATCH requires 4",
    ),
    counts=(3, 2),
    never=("is free", "was fixed"),
)  # fmt: skip
def step_of_a_module(run: Run) -> None:
    torch._dynamo.config.allow_unspec_int_on_nn_module = run.remedied

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.step = 2

        def forward(self, x: Any) -> Any:
            self.step += 1
            return x + self.step

    net = run.compile(Net())
    for _ in range(3):
        net(ones(3))


@case(
    "", "why-shape", expression="x.shape[-1]",
    cause=(
        "x.shape[1] is 4: it was the symbol",
        "for the node layer_norm",
    ),
    counts=(1, 1),
    never=("x.shape[0]",),
)  # fmt: skip
def last_size(run: Run) -> None:
    def normed(x: Any) -> Any:
        return nn.functional.layer_norm(x, (4,))  # cause

    compiled = run.compile(normed, dynamic=True)
    for size in (3, 5):
        compiled(ones(size, 4))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause="x.shape[0] never was a symbol: TENSOR_MATCH requires 3",
    counts=(1, 1),
    never=("was fixed", "is free"),
)  # fmt: skip
def seen_once(run: Run) -> None:
    @run.compile
    def added(x: Any) -> Any:
        return x + 1

    added(ones(3))
    if run.remedied:
        added(ones(3))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is 3: it was the symbol u0, and was fixed",
        "marked by mark_unbacked",
        "asserts Eq(u0, 3) when the graph runs",
        "s17 is y.shape[0]",
    ),
    counts=(2, 2),
    never=("is free",),
)  # fmt: skip
def unbacked_and_broadcast(run: Run) -> None:
    @run.compile
    def added(x: Any, y: Any) -> Any:
        return x + y  # cause

    for size in (3, 4, 5):
        x = ones(size)
        torch._dynamo.decorators.mark_unbacked(x, 0)
        added(x, ones(size))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is 4: it was the symbol", "the same symbol as x.shape[1]"),
    counts=(2, 2),
)  # fmt: skip
def shape_compared_with_a_tuple(run: Run) -> None:
    def doubled_if_square(x: Any) -> Any:
        return x * 2 if x.shape == (4, 4) else x + 1  # cause

    compiled = run.compile(doubled_if_square, dynamic=True)
    compiled(ones(4, 4))
    compiled(ones(5, 6))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is 3: it was the symbol", "by BINARY_OP *"),
    counts=(1, 1),
)  # fmt: skip
def list_that_is_repeated(run: Run) -> None:
    def repeated(x: Any) -> Any:
        return sum([x[0]] * x.shape[0])  # cause

    run.compile(repeated, dynamic=True)(ones(3))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is 3: it was the symbol", "for the node unbind"),
    counts=(1, 1),
)  # fmt: skip
def rows_unbound(run: Run) -> None:
    def added(x: Any) -> Any:
        return sum(x.unbind(0))  # cause

    run.compile(added, dynamic=True)(ones(3))


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
    "", "why-shape", expression="self.grid_size",
    cause="self.grid_size never was a symbol: CONSTANT_MATCH requires (2, 3)",
    counts=(2, 1),
    never=("SEQUENCE_LENGTH requires",),
)  # fmt: skip
def tuple_that_is_compared(run: Run) -> None:
    class OnAGrid(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.grid_size = (2, 3)

        def forward(self, x: Any) -> Any:
            if self.grid_size is None:
                return x
            return x * self.grid_size[1]

    module = OnAGrid()
    compiled = run.compile(module)
    compiled(ones(3))
    module.grid_size = (2, 3) if run.remedied else (4, 5)
    compiled(ones(3))
