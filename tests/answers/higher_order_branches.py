"""torch.cond, with functions or operands that it cannot take: it has its branches whole, or fails.
The line that fails is torch's own."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@case(
    "", "why-break",
    cause="Encountered input mutation during higher order op tracing",
    advice="change nothing that the function is given: return a new tensor instead",
    counts=(0, 1),
)  # fmt: skip
def written_in_one_branch(run: Run) -> None:
    """To blame is the line that writes, not that of torch.cond."""

    @run.compile
    def chosen(x: Any, times: Any) -> Any:
        def counted(x: Any) -> Any:
            if not run.remedied:
                times.add_(1)  # cause
            return x + 1

        return torch.cond(x.sum() > 0, counted, lambda x: x - 1, (x,)), times + 1

    with run.failing():
        chosen(ones(2), torch.zeros(2))


@case(
    "", "why-failed",
    cause="HOP: Unsafe side effect",
    advice="change nothing outside of the function that the operator is given",
    counts=(0, 1),
)  # fmt: skip
def noted_in_a_branch(run: Run) -> None:
    seen: list[Any] = []

    @run.whole
    def branching(x: Any) -> Any:
        def doubled(x: Any) -> Any:
            if not run.remedied:
                seen.append(x)  # cause
            return x * 2

        return torch.cond(x.sum() > 0, doubled, lambda x: x.sin(), (x,))

    with contextlib.suppress(Exception):
        branching(ones(3))


@case(
    "", "why-failed",
    cause="aliasing",
    advice="a view of that",
    counts=(0, 1),
)  # fmt: skip
def branch_that_returns_a_view(run: Run) -> None:
    @run.whole
    def halved(x: Any) -> Any:
        def first(x: Any) -> Any:
            return x[:2].clone() if run.remedied else x[:2]

        return torch.cond(x.sum() > 0, first, lambda x: x[2:] * 2, (x,))  # cause

    with run.failing():
        halved(ones(4))


@case(
    "", "why-failed",
    cause="torch.cond: improper operands",
    advice="hand the operands over as a tuple",
    counts=(0, 1),
    never=("the line is a library's",),
)  # fmt: skip
def operand_by_itself(run: Run) -> None:
    @run.whole
    def chosen(x: Any) -> Any:
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,) if run.remedied else x)  # cause

    with contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "", "why-failed",
    cause="torch.cond: improper operands contents",
    advice="hand over tensors only: a function takes what else it needs from around it",
    counts=(0, 1),
)  # fmt: skip
def operand_of_ones_own(run: Run) -> None:
    class Scaled:
        by = ones(2)

    def grown(x: Any, scaled: Any) -> Any:
        return x * scaled.by

    def shrunk(x: Any, scaled: Any) -> Any:
        return x / scaled.by

    @run.whole
    def chosen(x: Any, scaled: Any) -> Any:
        sure = x.sum() > 0
        if run.remedied:
            return torch.cond(sure, lambda x: grown(x, scaled), lambda x: shrunk(x, scaled), (x,))
        return torch.cond(sure, grown, shrunk, (x, scaled))  # cause

    with contextlib.suppress(Exception):
        chosen(ones(2), Scaled())


@case(
    "", "why-failed",
    cause="HOP: non-callable variable",
    advice="hand over functions, not what they return",
    counts=(0, 1),
)  # fmt: skip
def branches_called_at_once(run: Run) -> None:
    @run.whole
    def chosen(x: Any) -> Any:
        if run.remedied:
            return torch.cond(x.sum() > 0, lambda: x.sin(), lambda: x.cos(), ())
        return torch.cond(x.sum() > 0, x.sin(), x.cos(), ())  # cause

    with contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "", "why-failed",
    cause="torch.cond: unsupported branch return type (constant non-int)",
    advice="return tensors, whole numbers or bools only",
    counts=(0, 1),
)  # fmt: skip
def branches_that_return_nothing_beside(run: Run) -> None:
    nothing = 0 if run.remedied else None

    @run.whole
    def chosen(x: Any) -> Any:
        return torch.cond(  # cause
            x.sum() > 0, lambda x: (x.sin(), nothing), lambda x: (x.cos(), nothing), (x,)
        )

    with contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "pytorch#147115", "why-failed",
    cause=("UncapturedHigherOrderOpError while tracing", "builtin operator `print`"),
    advice="reorderable_logging_functions.add(print)",
    counts=(0, 1),
)  # fmt: skip
def printed_in_a_branch(run: Run) -> None:
    if run.remedied:
        config.reorderable_logging_functions.add(print)

    def told(x: Any) -> Any:
        print("positive")  # cause
        return x.sin()

    @run.compile
    def chosen(x: Any) -> Any:
        return torch.cond(x.sum() > 0, told, lambda x: x.cos(), (x,))

    with contextlib.suppress(Exception):
        chosen(ones(2))
    config.reorderable_logging_functions.discard(print)


@case(
    "pytorch#141259", "why-failed",
    cause=(
        "UncapturedHigherOrderOpError while tracing", "aliasing", "traced last: ",
        "kept: return x.clone() if run.remedied else x",
    ),
    advice="clone()",
    counts=(0, 1),
)  # fmt: skip
def branch_that_returns_its_input(run: Run) -> None:
    @run.compile
    def rectified(x: Any) -> Any:
        def kept(x: Any) -> Any:
            return x.clone() if run.remedied else x

        return torch.cond(x.sum() > 0, kept, torch.zeros_like, (x,))  # cause

    with contextlib.suppress(Exception):
        rectified(torch.ones(2, requires_grad=True))


@case(
    "", "why-failed",
    cause=("Encountered input mutation", "higher_order_branches.py"),
    advice="change nothing that the function is given",
    counts=(0, 1),
)  # fmt: skip
def counted_in_a_buffer(run: Run) -> None:
    """To blame is the line that writes, not that of torch.cond."""

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("times", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            def doubled(x: Any) -> Any:
                if not run.remedied:
                    self.times.add_(1)  # type: ignore[operator]  # cause
                return x * 2

            y = torch.cond(x.sum() > 0, doubled, lambda x: x - 1, (x,))
            return y + self.times

    with run.failing():
        run.whole(Counting())(ones(3))


@case(
    "", "why-failed",
    cause=("expected both a and b to be FakeTensor", "while tracing"),
    advice="let both functions return the same",
    counts=(0, 1),
)  # fmt: skip
def branch_that_returns_a_size(run: Run) -> None:
    def other(x: Any) -> Any:
        return x + 1 if run.remedied else x.shape[0]

    @run.whole
    def chosen(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x * 2, other, (x,))  # cause

    with run.failing():
        chosen(ones(3))


def cosine(x: Any) -> Any:
    return x.cos()


@case(
    "", "why-failed",
    cause=("HOP: Non-nullified side effect", "Attribute 'count'"),
    advice="change nothing outside of the function that the operator is given",
    counts=(0, 1),
    never=("the line is a library's",),
)  # fmt: skip
def counted_in_a_branch(run: Run) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def forward(self, x: Any) -> Any:
            def counting(x: Any) -> Any:
                if not run.remedied:
                    self.count += 1  # cause
                return x.sin()

            self.count += run.remedied
            return torch.cond(x.sum() > 0, counting, cosine, (x,))

    with contextlib.suppress(Exception):
        run.whole(Net())(ones(2))


@case(
    "", "why-failed",
    cause=("HOP body output unsupported", "<class 'str'>"),
    advice="return tensors, whole numbers or bools only",
    counts=(0, 1),
    never=("the line is a library's",),
)  # fmt: skip
def text_from_a_branch(run: Run) -> None:
    def named(x: Any) -> Any:
        return x.sin() if run.remedied else (x.sin(), "a")

    def other(x: Any) -> Any:
        return x.cos() if run.remedied else (x.cos(), "b")

    @run.whole
    def chosen(x: Any) -> Any:
        return torch.cond(x.sum() > 0, named, other, (x,))  # cause

    with contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "", "why-failed",
    cause=("torch.cond: differing branch outputs",),
    advice="let both functions return the same",
    counts=(0, 1),
    never=("the line is a library's",),
)  # fmt: skip
def one_branch_returns_two(run: Run) -> None:
    def two(x: Any) -> Any:
        return (x.sin(),) if run.remedied else (x.sin(), x.cos())

    @run.whole
    def chosen(x: Any) -> Any:
        return torch.cond(x.sum() > 0, two, lambda x: (x.cos(),), (x,))  # cause

    with contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "", "why-failed",
    cause=("torch.cond: improper predicate",),
    advice="pass a bool, or a tensor of one bool",
    counts=(0, 1),
    never=("the line is a library's",),
)  # fmt: skip
def decided_by_a_list(run: Run) -> None:
    @run.whole
    def chosen(x: Any) -> Any:
        sure = x.sum() > 0 if run.remedied else [x.sum() > 0]
        return torch.cond(sure, torch.sin, torch.cos, (x,))  # cause

    with contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "", "why-failed",
    cause=("UncapturedHigherOrderOpError while tracing", "Input-to-input aliasing"),
    advice="hand one of them over as its clone(), made before",
    counts=(0, 1),
    never=("return what is new",),
)  # fmt: skip
def branches_that_are_given_a_view(run: Run) -> None:
    def chosen(x: Any) -> Any:
        view = x.t().clone() if run.remedied else x.t()
        return torch.cond(x.sum() > 0, torch.add, torch.sub, (x, view))  # cause

    with contextlib.suppress(Exception):
        run.compile(chosen)(ones(2, 2))
