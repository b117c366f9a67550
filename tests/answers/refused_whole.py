"""Programs that fail where the graph ends, or where torch joins what it has cut, because of what a
line before has done: wrote into an expanded input, made a leaf, combined halves.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._higher_order_ops.associative_scan import (  # type: ignore[attr-defined]  # not exported
    associative_scan,
)

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-failed",
    cause="more than one element of the written-to tensor refers to a single memory location",
    advice="scores is expanded, so that several of its elements are one place in memory, and "
    "tests/answers/refused_whole.py:",
    counts=(1, 1),
)  # fmt: skip
def doubled_where_it_is_expanded(run: Run) -> None:
    def doubled_scores(scores: Any, shift: Any) -> Any:
        shifted = scores + shift
        scores.mul_(2)
        return shifted

    compiled = torch.compile(doubled_scores, backend=run.traced_again)
    scores = ones(1).expand(4)
    with run.failing():
        compiled(scores.clone() if run.remedied else scores, ones(4))


@case(
    "", "why-failed",
    cause="more than one element of the written-to tensor refers to a single memory location",
    counts=(1, 1),
    never=("is expanded",),
)  # fmt: skip
def added_to_a_view_of_it(run: Run) -> None:
    """No node writes into the input itself: of which view it is, is not followed."""

    def added_to_first(marks: Any) -> Any:
        first = marks[:1]
        first.add_(2)
        return first + 1

    compiled = torch.compile(added_to_first, backend=run.traced_again)
    marks = ones(1).expand(4)
    with run.failing():
        compiled(marks.clone() if run.remedied else marks)


def _asking_for_gradients(of: Any) -> Any:
    of.requires_grad_()
    return of


@case(
    "", "why-failed",
    cause="returning intermediate with requires_grad_()",
    advice="in _asking_for_gradients calls requires_grad_ of what is computed",
    counts=(0, 1),
)  # fmt: skip
def leaf_made_in_a_helper(run: Run) -> None:
    @run.whole
    def from_a_leaf(x: Any) -> Any:
        leaf = _asking_for_gradients(x.detach().sin())
        out = leaf * 2
        return out.detach() if run.remedied else out  # cause

    with run.failing():
        from_a_leaf(ones(3))


@case(
    "", "why-failed",
    cause="Number of dimensions of tensors must match",
    advice="associative_scan calls its function with the halves of each tensor",
    counts=(0, 1),
)  # fmt: skip
def scanned_by_what_sums(run: Run) -> None:
    def combined(one: Any, other: Any) -> Any:
        return one + other if run.remedied else (one + other).sum(-1)

    @run.whole
    def scanned_rows(rows: Any) -> Any:
        return associative_scan(combined, rows, dim=0, combine_mode="generic")  # cause

    with run.failing():
        scanned_rows(ones(4, 3))
