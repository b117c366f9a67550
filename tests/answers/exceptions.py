"""What raises while it is traced: the program itself, torch at tensors that do not fit, or only
what stands for a value while it is traced."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.func import functional_call

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#128071", "why-break",
    cause=("Observed exception", "unsupported operand type(s) for %"),
    advice="the address of a tensor is no number while it is translated",
    counts=(0, 1),
)  # fmt: skip
def aligned_by_its_address(run: Run) -> None:
    def aligned(x: Any) -> Any:
        return x if x.data_ptr() % 16 == 0 else x.clone()  # cause

    @run.compile
    def normalized(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            x = aligned(x)
        return x / x.sum()

    normalized(ones(2))


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="the assertion does not hold for what this call was given",
    never=("_assert_async",),
    counts=(1, 1),
)  # fmt: skip
def assertion_that_fails(run: Run) -> None:
    @run.compile
    def checked(x: Any) -> Any:
        x = x * 2
        assert x.shape[0] > 4  # cause
        return x

    with contextlib.suppress(AssertionError):
        checked(ones(6 if run.remedied else 4))


@case(
    "", "why-break",
    cause="Data-dependent assertion failed (cannot compile partial graph)",
    advice="the assertion does not hold for what this call was given",
    counts=(0, 1),
)  # fmt: skip
def helper_that_asserts(run: Run) -> None:
    def check(x: Any) -> None:
        assert x.shape[0] > 4  # cause

    @run.compile
    def helped(x: Any) -> Any:
        check(x)
        return x * 2

    with contextlib.suppress(AssertionError):
        helped(ones(6 if run.remedied else 4))


@case(
    "", "why-failed",
    cause=("FrozenInstanceError: cannot assign to field 'step'", "inside <string>:"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def written_into_a_frozen_state(run: Run) -> None:
    """The method that refuses was made from text, by dataclasses."""

    @dataclass(frozen=True)
    class State:
        hidden: Any
        step: int

    def advance(state: Any, x: Any) -> Any:
        if not run.remedied:
            state.step = state.step + 1  # cause
        return state.hidden + x

    with run.failing():
        run.whole(advance)(State(ones(3), 0), ones(3))


@case(
    "", "why-failed",
    cause=("AttributeError: Sequential has no attribute `3`", "contextlib.py"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def called_with_a_parameter_too_many(run: Run) -> None:
    """What the library raises comes out of a `with` of its own."""
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    parameters = dict(net.named_parameters())
    if not run.remedied:
        parameters["3.weight"] = parameters.pop("2.weight")

    def predict(parameters: Any, x: Any) -> Any:
        return functional_call(net, parameters, (x,))  # cause

    with run.failing():
        run.whole(predict)(parameters, ones(2, 4))


@case(
    "", "why-failed",
    cause=("KeyError: linaer", "[1] 'linaer'  LazyConstantVariable  (lazy)  self.kind"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def schedule_that_is_not_known(run: Run) -> None:
    class Schedule(nn.Module):
        betas = {"linear": (0.1, 0.2), "cosine": (0.0, 0.9)}  # noqa: RUF012 -- as it is written

        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind = kind

        def forward(self, x: Any) -> Any:
            low, high = self.betas[self.kind]  # cause
            return x * (high - low)

    with run.failing():
        run.whole(Schedule("linear" if run.remedied else "linaer"))(ones(3))


@case(
    "", "why-failed",
    cause=(
        "Given normalized_shape=[8], expected input with shape [8], but got input of size",
        "LayerNorm  UnspecializedBuiltinNNModuleVariable  self.blocks[1].norm",
    ),
    counts=(0, 1),
)  # fmt: skip
def block_of_another_width(run: Run) -> None:
    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(width)

        def forward(self, x: Any) -> Any:
            return self.norm(x) + x  # cause

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block(4), Block(4 if run.remedied else 8)])

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return x

    with run.failing():
        run.whole(Net())(ones(2, 4))


@case(
    "", "why-failed",
    cause=("RecursionError while tracing", " times from tests/answers/exceptions.py"),
    counts=(0, 1),
)  # fmt: skip
def called_by_itself_for_ever(run: Run) -> None:
    """A way of many calls of one function is told as one."""

    def grown(x: Any, times: int) -> Any:
        if times == 0 or (run.remedied and times < 2):
            return x
        return grown(x + 1, times)  # cause

    with run.failing():
        run.whole(grown)(ones(2), 1)


@case(
    "", "why-failed",
    cause=(
        "The size of tensor a (((s77 + 1)//2)) must match the size of tensor b ((s77//2))",
        "s77 is x.shape[0], 7 in this call",
    ),
    counts=(1, 1),
)  # fmt: skip
def halves_of_an_odd_length(run: Run) -> None:
    def folded(x: Any) -> Any:
        half = x.shape[0] // 2
        first = x[::2][:half] if run.remedied else x[::2]
        return first + x[1::2]  # cause

    compiled = run.compile(folded, dynamic=True)
    for size in (6, 7):
        with run.failing():
            compiled(ones(size))


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


class Image:
    """What is no sequence."""


@case(
    "pytorch#121505", "why-failed",
    cause="TypeError: 'Image' object is not iterable",
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def image_that_is_no_list(run: Run) -> None:
    @run.whole
    def counted(x: Any, images: Any) -> Any:
        for _ in images:  # cause
            x = x + 1
        return x

    with run.failing():
        counted(ones(3), [Image()] if run.remedied else Image())
