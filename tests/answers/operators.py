"""Programs whose higher-order operators are given functions that they cannot take: torch.cond,
while_loop and the like have them whole, or fail. The line that fails is torch's own."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn
from torch._higher_order_ops.while_loop import while_loop

from tests.answers.cases import Run, case

ones = torch.ones


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
    cause=("torch.while_loop: unsupported cond_fn return type",),
    advice="let it return a bool, or a tensor of one",
    counts=(0, 1),
    never=("the line is a library's",),
)  # fmt: skip
def asked_of_each_element(run: Run) -> None:
    def small(x: Any) -> Any:
        return (x < 3).all() if run.remedied else x < 3

    @run.whole
    def grown(x: Any) -> Any:
        return while_loop(small, lambda x: (x + 1,), (x,))  # cause

    with contextlib.suppress(Exception):
        grown(ones(2))


@case(
    "", "why-failed",
    cause=("UncapturedHigherOrderOpError while tracing", "Input-to-input aliasing"),
    advice="or make the view inside, by a method (x.t())",
    counts=(0, 1),
    never=("return what is new",),
)  # fmt: skip
def region_with_a_transposed_attribute(run: Run) -> None:
    @torch.compiler.nested_compile_region
    def gram(x: Any) -> Any:
        return x @ (x.t() if run.remedied else x.T)

    def twice(x: Any) -> Any:
        return gram(gram(x))  # cause

    with contextlib.suppress(Exception):
        run.compile(twice)(ones(2, 2))


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
