"""Programs whose arguments are views of other tensors, of which symbolic sizes are asked, too."""

from __future__ import annotations

from typing import Any

import torch

from tests.answers.cases import Run, case

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
