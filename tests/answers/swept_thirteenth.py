"""Programs of a thirteenth sweep: over all five questions."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn, ones

from tests.answers.cases import Run, case

config = torch._dynamo.config


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 1, 3", "asks for Eq(x.shape[0], 1), which takes a value"),
    advice="Dynamo makes no symbol of a size 0 or 1",
    counts=(2, 1),
    never=("Torch's remedy",),
)  # fmt: skip
def length_that_a_helper_asks_for(run: Run) -> None:
    """Where it is a symbol the compiler knows the answer, and has no condition for it."""

    def squeezed(rows: Any) -> Any:
        return rows[0] if len(rows) == 1 else rows.sum(0)  # cause

    @run.compile
    def reduced(x: Any) -> Any:
        return squeezed(x) + 1

    for size in (3, 3) if run.remedied else (1, 3):
        reduced(ones(size, 2))


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="With dynamic=False, or automatic_dynamic_shapes off, each size is compiled by itself",
    counts=(3, 2),
    never=("With dynamic=False each",),
)  # fmt: skip
def sizes_where_a_setting_is_off(run: Run) -> None:
    """Which of the two it is by which nothing is dynamic, Dynamo's settings do not say."""
    config.automatic_dynamic_shapes = run.remedied

    @run.compile
    def doubled_by_itself(x: Any) -> Any:
        return x * 2  # cause

    for size in (3, 4, 5):
        doubled_by_itself(ones(size))


@case(
    "", "why-recompile",
    cause=("keys of parts changes: with 'p', without 'p'", "likewise of 3 others: parts['q']"),
    advice="Hand over parts always with the same keys",
    counts=(2, 1),
    never=("it has no key 'q'",),
)  # fmt: skip
def parts_of_which_none_is_there(run: Run) -> None:
    @run.compile
    def mixed(x: Any, parts: Any) -> Any:
        if "p" not in parts:  # cause
            return x * 2
        return x + parts["p"] + parts["q"] + parts["r"] + parts["s"]

    mixed(ones(2), dict.fromkeys("pqrs", 1.0))
    mixed(ones(2), dict.fromkeys("pqrs" if run.remedied else "abcd", 1.0))


@case(
    "", "why-recompile",
    cause="autocast(cpu) changes: off, bfloat16  (1 of 1)",
    advice="Call it under one state: always the same autocast",
    counts=(2, 1),
    never=("dispatch keys of x changes",),
)  # fmt: skip
def layer_within_autocast(run: Run) -> None:
    """That its tensors have other dispatch keys then, follows from that."""
    layer = nn.Linear(4, 4)

    @run.compile
    def projected_down(x: Any) -> Any:
        return layer(x)  # cause

    projected_down(ones(2, 4))
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not run.remedied):
        projected_down(ones(2, 4))


@case(
    "pytorch#176851", "is-guarded", expression="settings['rate']",
    cause="what that reads is guarded, but not that something is not there which it looks for",
    counts=(1, 1),
)  # fmt: skip
def setting_that_is_there_later(run: Run) -> None:
    """That a dictionary lacks a key is no guard, where the KeyError is handled."""

    class Settings:
        def __init__(self) -> None:
            self.kept: dict[str, int] = {}

        def __getitem__(self, name: str) -> int | None:
            try:
                return self.kept[name]
            except KeyError:
                return None

    settings = Settings()

    @run.compile
    def scaled_if_set(x: Any) -> Any:
        return x * 3 if settings["rate"] is None else x * 5

    scaled_if_set(ones(2))
    if not run.remedied:
        settings.kept["rate"] = 1
    scaled_if_set(ones(2))


@case(
    "", "why-failed",
    cause=("TypeError: softmax() missing 1 required positional arguments",),
    advice="",
    counts=(0, 1),
)  # fmt: skip
def softmax_without_a_dimension(run: Run) -> None:
    @run.whole
    def weighted(x: Any) -> Any:
        return torch.softmax(x, dim=1) if run.remedied else torch.softmax(x, axes=1)  # type: ignore[call-arg]  # cause

    with run.failing():
        weighted(ones(2, 2))


@case(
    "", "why-failed",
    cause="PendingUnbackedSymbolNotFound while tracing",
    advice="takes a number out of a tensor, within what is one operator of the graph",
    counts=(0, 1),
)  # fmt: skip
def number_kept_for_a_backward(run: Run) -> None:
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.total = x.sum() if run.remedied else x.sum().item()
            return x.exp()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]  # of one gradient
            return grad * ctx.total

    @run.whole
    def scaled_by_its_total(x: Any) -> Any:
        return Scaled.apply(x) * 2  # cause

    with run.failing():
        scaled_by_its_total(ones(3, requires_grad=True))


@case(
    "", "why-break",
    cause=("Attempted to call function marked as skipped", "in _BaseExitStack.enter_context"),
    advice="enter it by a with statement, which is followed",
    counts=(0, 1),
)  # fmt: skip
def mode_that_a_stack_enters(run: Run) -> None:
    @run.compile
    def without_a_gradient(x: Any) -> Any:
        x = x + 1
        if run.remedied:
            with torch.no_grad():
                return x * 2
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())  # cause
            return x * 2

    without_a_gradient(ones(2))


@case(
    "", "why-break",
    cause="torch.* op returned non-Tensor",
    advice="enter it around the call of the compiled function instead of inside",
    counts=(1, 1),
    never=("ask before",),
)  # fmt: skip
def generator_forked_inside(run: Run) -> None:
    @run.compile
    def with_noise(x: Any) -> Any:
        x = x + 1
        if run.remedied:
            return x + torch.rand(2)
        with torch.random.fork_rng():  # cause
            noise = torch.rand(2)
        return x + noise

    with torch.random.fork_rng():
        with_noise(ones(2))


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
