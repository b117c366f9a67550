"""Programs that train and serve models, as libraries wrap them."""

from __future__ import annotations

import contextlib
import functools
import random
from typing import Any

import torch
from torch.testing._internal.distributed.fake_pg import FakeStore

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile", function="SGD.step",
    cause="length of list(self.state.values())[0] changes: 0, 1",
    advice="An optimizer makes what it keeps for each parameter (self.state) in its first step",
    counts=(2, 1),
)  # fmt: skip
def first_step_of_an_optimizer(run: Run) -> None:
    weight = torch.nn.Parameter(ones(3))
    optimizer = torch.optim.SGD([weight], lr=torch.tensor(0.1), momentum=0.9, foreach=False)

    def backward() -> None:
        (weight * 2).sum().backward()

    if run.remedied:
        backward()
        optimizer.step()
    step = run.compile(optimizer.step)
    for _ in range(3):
        backward()
        step()


@case(
    "", "why-recompile",
    cause="object of function.__code__ changes: ",
    advice="passing_on.<locals>.wrapper is one code for all functions that it wraps",
    counts=(3, 1),
    never=("hand over args always with as many",),
)  # fmt: skip
def one_wrapper_around_two(run: Run) -> None:
    def passing_on(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **options: Any) -> Any:
            return function(*args, **options)

        return wrapper

    @passing_on
    def layer(x: Any, scale: int, *, shift: int) -> Any:
        x = x * scale
        if not run.remedied:
            torch._dynamo.graph_break()
        return x + shift

    @passing_on
    def model(x: Any) -> Any:
        return layer(x + 1, 2, shift=3)

    run.compile(model)(ones(3))


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 4, 6",
    advice="torch._dynamo.mark_dynamic(x, 0) before the first call",
    counts=(3, 2),
)  # fmt: skip
def option_given_once(run: Run) -> None:
    def f(x: Any, **options: Any) -> Any:
        if options.get("empty"):
            return ones(2) * 2
        return x + 1  # cause

    compiled = run.compile(f)
    compiled(ones(4), empty=True)
    for length in (4, 6, 5):
        x = ones(length)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        compiled(x)


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 1, 2, 4, 8",
    advice="With dynamic=False, or automatic_dynamic_shapes off, each size is compiled by itself",
    counts=(4, 2),
)  # fmt: skip
def buckets_of_batches(run: Run) -> None:
    def f(x: Any) -> Any:
        return x * 2  # cause

    compiled = run.compile(f, dynamic=None if run.remedied else False)
    for bucket in (1, 2, 4, 8):
        compiled(ones(bucket, 3))


@case(
    "", "why-recompile",
    cause="best[0] changes: inf, 3.0",
    advice="Dynamo makes no symbol of inf, which has an entry of its own: keep best[0] in a tensor",
    counts=(2, 1),
    never=("of another type",),
)  # fmt: skip
def best_loss_until_now(run: Run) -> None:
    start = float("inf")
    best = [torch.tensor(start) if run.remedied else start]

    def validate(loss: Any, best: Any) -> Any:
        return torch.where(loss < best[0], loss, 0.0)  # cause

    compiled = run.compile(validate)
    compiled(ones(2), best)
    best[0] = torch.tensor(3.0) if run.remedied else 3.0
    compiled(ones(2), best)


@case(
    "", "why-recompile",
    cause="length of kwargs changes: 0, 1",
    advice="What a call hands over is a constant of the graph: give it the same keyword arguments",
    counts=(2, 1),
)  # fmt: skip
def option_that_is_left_out(run: Run) -> None:
    def scaled(x: Any, scale: Any = None) -> Any:
        return x if scale is None else x * 2

    def given(x: Any, **kwargs: Any) -> Any:
        return scaled(x + 1, **kwargs)

    compiled = run.compile(given)
    compiled(ones(3), **({"scale": 2} if run.remedied else {}))
    compiled(ones(3), scale=2)


@case(
    "", "why-failed", function="GroupNorm",
    cause=("1 call failed", "GroupNorm, inner of wrap_inline: RuntimeError before tracing"),
    advice="with torch._dynamo.mark_dynamic(input, 0) before that one serves every such size",
    counts=(1, 1),
)  # fmt: skip
def size_without_a_warm_up(run: Run) -> None:
    model = run.compile(torch.nn.GroupNorm(1, 3))
    warm = ones(4, 3)
    if run.remedied:
        torch._dynamo.mark_dynamic(warm, 0)
    model(warm)
    with torch.compiler.set_stance("fail_on_recompile"), run.failing():
        model(ones(5, 3))


@case(
    "", "why-failed",
    cause="modified by an inplace operation",
    advice="the backward needs what is written into: make a new tensor",
    counts=(1, 1),
    never=("is not recorded",),
)  # fmt: skip
def written_after_exp(run: Run) -> None:
    def f(weight: Any) -> Any:
        y = torch.sigmoid(weight) + 1
        y = torch.exp(y)
        y = y * 2 if run.remedied else y.mul_(2)  # cause
        return y.sum()

    with run.failing():
        torch.compile(f, backend=run.traced_again)(torch.nn.Parameter(ones(3))).backward()


@case(
    "", "why-failed",
    cause="GuardOnDataDependentSymNode in torch.export",
    advice="int() asks for the number itself: .item() in its place makes it a symbol",
    counts=(0, 0),
)  # fmt: skip
def longest_of_an_export(run: Run) -> None:
    class Shortened(torch.nn.Module):
        def forward(self, x: Any, lengths: Any) -> Any:
            longest = lengths.max()
            longest = longest.item() if run.remedied else int(longest)  # cause
            return x[:, :longest].sum()

    with run.failing():
        torch.export.export(Shortened(), (ones(2, 4), torch.tensor([2, 3])))


@case(
    "", "why-recompile",
    cause="model.decay changes: 0.9, 0.91, 0.92",
    advice="model.decay is a symbol until AOTAutograd needs its value for an operator",
    counts=(4, 1),
)  # fmt: skip
def decay_as_a_number(run: Run) -> None:
    class Averaged:
        decay: Any = 0.9

    model = Averaged()

    def update(kept: Any, x: Any) -> Any:
        if run.remedied:
            return kept + x * (1 - model.decay)
        return torch.add(kept, x, alpha=1 - model.decay)  # cause

    compiled = torch.compile(update, backend=run.traced_again)
    for decay in (0.9, 0.91, 0.92):
        model.decay = torch.tensor(decay) if run.remedied else decay
        compiled(ones(3), ones(3))


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 4, 1",
    counts=(1, 1),
    never=("mark_unbacked",),
)  # fmt: skip
def row_by_itself(run: Run) -> None:
    norm = torch.nn.BatchNorm1d(3)

    @run.compile
    def f(x: Any) -> Any:
        return norm(x)  # cause

    f(ones(4, 3))
    if not run.remedied:
        with contextlib.suppress(Exception):
            f(ones(1, 3))


@case(
    "", "why-recompile", function="PReLU",
    cause="input.shape[0] changes: 4, 3",
    advice="torch._dynamo.mark_dynamic(input, 0) before the first call",
    counts=(2, 1),
    never=("backend",),
)  # fmt: skip
def batches_of_a_rank(run: Run) -> None:
    distributed = torch.distributed
    distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        model = torch.nn.parallel.DistributedDataParallel(run.compile(torch.nn.PReLU()))
        for size in (4, 4, 3):
            x = ones(size, 3)
            if run.remedied:
                torch._dynamo.mark_dynamic(x, 0)
            model(x)
    finally:
        distributed.destroy_process_group()


@case(
    "", "why-break",
    cause="async_op=True for distributed collectives",
    advice="call it without async_op and without wait()",
    counts=(2, 1),
)  # fmt: skip
def reduced_meanwhile(run: Run) -> None:
    distributed = torch.distributed

    @run.compile
    def reduced(x: Any) -> Any:
        x = x + 1
        work = distributed.all_reduce(x, async_op=not run.remedied)  # cause
        if not run.remedied:
            work.wait()
        return x * 2

    distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        reduced(ones(3))
    finally:
        distributed.destroy_process_group()


@case(
    "", "why-break",
    cause="unimplemented builtin op on tensor arguments",
    advice="draw it before the compiled function, and hand it over",
    counts=(0, 1),
)  # fmt: skip
def cropped_at_random(run: Run) -> None:
    def cropped(x: Any, n: int = 1) -> Any:
        x = x + 1
        n = n if run.remedied else random.randint(1, 3)
        return x[n:-n]  # cause

    run.compile(cropped)(ones(9))


@case(
    "", "why-failed",
    cause="RuntimeError: a leaf Variable that requires grad is being used",
    advice="write into a parameter under torch.no_grad()",
    counts=(0, 1),
)  # fmt: skip
def average_as_parameters(run: Run) -> None:
    kept = torch.nn.Parameter(ones(3))

    @run.compile
    def update(x: Any) -> Any:
        with torch.set_grad_enabled(not run.remedied):
            kept.mul_(0.9).add_(x)  # cause
        return x * 2

    with contextlib.suppress(Exception):
        update(ones(3))


@case(
    "", "why-failed",
    cause="RuntimeError: Unmatched output spec from torch.cond branches",
    advice="let both functions return the same",
    counts=(0, 1),
)  # fmt: skip
def branch_with_one_more(run: Run) -> None:
    def more(x: Any) -> Any:
        return x.sin() if run.remedied else (x.sin(), x + 1)

    def fewer(x: Any) -> Any:
        return x.cos()

    @run.whole
    def either(x: Any) -> Any:
        return torch.cond(x.sum() > 0, more, fewer, (x,))  # cause

    with contextlib.suppress(Exception):
        either(ones(3))
