"""Strides, memory formats and storage offsets, and slices and views that have others."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#131265", "why-recompile",
    cause="stride[0] of tokens changes: 5, 9",
    advice="hand over tokens.clone(memory_format=torch.contiguous_format)",
    counts=(2, 1),
)  # fmt: skip
def one_row_of_a_longer_one(run: Run) -> None:
    """Of one row `contiguous()` makes no other: where the next one would lie does not matter."""

    @run.compile
    def embedded(tokens: Any) -> Any:
        return tokens.float() * 2  # cause

    embedded(ones(1, 5))
    tokens = ones(1, 9)[:, :5]
    assert tokens.contiguous().stride() == (9, 1)
    embedded(tokens.clone(memory_format=torch.contiguous_format) if run.remedied else tokens)


@case(
    "", "why-recompile",
    cause=(
        "stride[3] of input changes: 1, 3  (1 of 2)",
        "input.shape[2] changes: 32, 48  (1 of 2)",
    ),
    advice="hand over input always in one memory format",
    counts=(3, 2),
    never=("input.shape[2] changes: 32, 48  (2 of 2)",),
    function="Conv2d",
)  # fmt: skip
def resolutions_and_a_layout(run: Run) -> None:
    """What the entry for other resolutions serves is not why a layout takes one more."""
    compiled = run.compile(nn.Conv2d(3, 4, 3))
    for side, layout in (
        (32, torch.contiguous_format),
        (48, torch.contiguous_format),
        (48, torch.channels_last),
    ):
        image = ones(2, 3, side, side)
        compiled(image if run.remedied else image.to(memory_format=layout))


@case(
    "pytorch#129798", "why-recompile",
    cause="x.stride()[0] == x.shape[1] does not hold  (1 of 3)",
    advice="torch._dynamo.mark_dynamic(x, 1) before the first call",
    counts=(4, 1),
    never=("x.shape[1] changes: x.stride()", "x.shape[1] differed"),
)  # fmt: skip
def batches_and_slices_of_wider_ones(run: Run) -> None:
    @run.compile
    def doubled_as_it_lies(x: Any) -> Any:
        return x * 2  # cause

    for size in (4, 5, 6):
        for x in (ones(size, size + 1), ones(size, 2 * size)[:, :size]):
            if run.remedied:
                x = x.contiguous()
                torch._dynamo.mark_dynamic(x, 0)
                torch._dynamo.mark_dynamic(x, 1)
            doubled_as_it_lies(x)


@case(
    "pytorch#160271", "why-recompile",
    cause=("t.shape[0] changes: 1, 2", "stride[0] of guidance: expected 1, actual 0"),
    advice="hand over guidance.contiguous()",
    counts=(2, 1),
)  # fmt: skip
def guidance_that_is_expanded(run: Run) -> None:
    """The marks alone do not help: an expanded tensor has a stride of 0."""

    @run.compile
    def guided(guidance: Any, t: Any) -> Any:
        return guidance * t  # cause

    for images in (1, 2, 3):
        guidance, t = torch.full((1,), 3.5).expand(images), ones(images)
        if run.remedied:
            guidance = guidance.contiguous()
            torch._dynamo.decorators.mark_unbacked(guidance, 0)
            torch._dynamo.decorators.mark_unbacked(t, 0)
        guided(guidance, t)


@case(
    "", "why-recompile",
    cause="stride[0] of states[0] changes: 12, 4",
    advice="is put there by the compiled function itself at tests/answers/",
    counts=(3, 2),
    never=("hand over states[0]",),
)  # fmt: skip
def tail_that_is_kept(run: Run) -> None:
    @run.compile
    def mixed(x: Any, states: Any) -> Any:
        y = x.cos()
        if 0 in states:
            y = y + states[0]
        tail = y[:, -1:]
        if run.remedied:
            tail = tail.clone(memory_format=torch.contiguous_format)
        states[0] = tail
        return y

    states: dict[int, Any] = {}
    for length in (3, 1, 1):
        mixed(ones(1, length, 4), states)


@case(
    "", "why-recompile",
    cause="2 <= x.storage_offset() does not hold",
    advice="hand it over as x.clone()",
    counts=(3, 2),
)  # fmt: skip
def last_row_of_what_came(run: Run) -> None:
    @run.compile
    def next_row(x: Any) -> Any:
        return x * 2  # cause

    x = next_row(ones(3, 4))
    for _ in range(3):
        x = next_row(x[-1:].clone() if run.remedied else x[-1:])


_ADVICE = "hand x over always as a view of such a tensor, or always as none, with x.clone()"


@case(
    "", "why-recompile",
    cause="base of x changes: a tensor, None",
    advice=_ADVICE,
    counts=(2, 1),
    never=("NoneType", "does not hold", ".contiguous()"),
)  # fmt: skip
def slices_and_whole_tensors(run: Run) -> None:
    """Of a slice it is asked what it is a slice of, once its size is a symbol."""

    def scaled(x: Any) -> Any:
        return x.sin() * 2  # cause

    compiled = run.compile(scaled, dynamic=True)
    for x in (torch.randn(6, 8)[:4], torch.randn(5, 8)):
        compiled(x.clone() if run.remedied else x)


@case(
    "", "why-recompile",
    cause=("base of x changes: one of more dimensions, one of fewer",),
    advice=_ADVICE,
    counts=(2, 1),
    never=("out of range", "does not hold", ".contiguous()"),
)  # fmt: skip
def slices_of_a_batch_and_of_a_row(run: Run) -> None:
    def scaled(x: Any) -> Any:
        return x.sin() * 2  # cause

    compiled = run.compile(scaled, dynamic=True)
    for x in (torch.randn(2, 6, 8)[0][:4], torch.randn(6, 8)[:3]):
        compiled(x.clone() if run.remedied else x)


@case(
    "", "why-shape", expression="x.stride(0)",
    cause=("x.stride(0) is no symbol of its own: it is s27",),
    counts=(2, 1),
    never=("x.stride(0) never was a symbol: TENSOR_MATCH requires s27",),
)  # fmt: skip
def stride_that_is_a_size(run: Run) -> None:
    def flat(x: Any) -> Any:
        return x.contiguous().view(-1)

    compiled = run.compile(flat, dynamic=True)
    for x in (ones(4, 6), ones(6, 4).t()):
        compiled(x.contiguous() if run.remedied else x)


@case(
    "", "is-guarded", expression="turned.is_contiguous()",
    cause=(
        "turned.is_contiguous() is guarded: it follows from the strides [1, s",
        "], with which it is False",
    ),
    counts=(3, 2),
    never=("is free",),
)  # fmt: skip
def strides_that_are_never_contiguous(run: Run) -> None:
    @run.compile
    def doubled_turned(turned: Any) -> Any:
        return turned * 2

    doubled_turned(ones(3, 8)[:, ::2])
    doubled_turned(ones(4, 3).t())
    doubled_turned(ones(4, 3).t() if run.remedied else ones(3, 4))
