"""Derivatives within what is compiled: backward(), torch.autograd.grad, and functions with a
backward of their own."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@case(
    "pytorch#91468", "why-break",
    cause="Tensor.retain_grad() with AOTDispatcher",
    advice="call retain_grad outside of the compiled function",
    counts=(0, 1),
)  # fmt: skip
def gradient_retained_inside(run: Run) -> None:
    @run.compile
    def hidden(x: Any) -> Any:
        y = x * 2
        if not run.remedied:
            y.retain_grad()  # cause
        return y.sin()

    hidden(torch.ones(2, requires_grad=True))


@case(
    "pytorch#138215", "why-break",
    cause="builtin operator `print`",
    advice="print outside of the compiled function",
    counts=(3, 1),
)  # fmt: skip
def printed_in_a_backward(run: Run) -> None:
    """The backward of a function of the program's is translated where its forward is called."""

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            if not run.remedied:
                print("in the backward")  # cause
            (x,) = ctx.saved_tensors
            return gradient * x.cos()

    @run.compile
    def waved(x: Any) -> Any:
        return Sine.apply(x * 2) + 1  # type: ignore[no-untyped-call]

    waved(torch.ones(2, requires_grad=True))


@case(
    "", "why-break",
    cause="Unsupported Tensor.backward() call",
    advice="as long as no tensor that it goes through is returned",
    counts=(2, 1),
)  # fmt: skip
def backward_of_a_loss_that_is_detached(run: Run) -> None:
    """With the setting alone it would break where the loss is returned as it is."""
    layer = nn.Linear(2, 1)

    @run.compile
    def learned(x: Any) -> Any:
        loss = layer(x).sum()
        loss.backward()  # cause
        return (loss.detach() if run.remedied else loss) + 1

    with config.patch(trace_autograd_ops=run.remedied):
        learned(ones(2, 2))


@case(
    "", "why-break",
    cause="mark_dirty input not returned",
    advice="return from forward what ctx.mark_dirty is given",
    counts=(1, 1),
)  # fmt: skip
def written_into_and_not_returned(run: Run) -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return (x, x.sum()) if run.remedied else x.sum()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 2

    @run.compile
    def doubled(x: Any) -> Any:
        return Doubled.apply(x.clone())  # cause

    with run.failing():
        doubled(ones(2, requires_grad=True))


@case(
    "pytorch#125138", "why-break",
    cause=("1 cause: 2 frames given up", "raised exception AttributeError"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
    never=("with torch.no_grad():",),
)  # fmt: skip
def raised_in_a_function_of_autograd(run: Run) -> None:
    """Torch calls it within a `with`, which the exception only leaves."""

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            if not run.remedied:
                ctx.calls += 1  # cause
            return x.exp()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

    @run.compile
    def counted(x: Any) -> Any:
        return Counted.apply(x) * 2

    with run.failing():
        counted(ones(3, requires_grad=True))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="within a torch.autograd.Function no setting makes it a symbol",
    counts=(3, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def item_for_a_backward(run: Run) -> None:
    """With the setting it is an internal error of torch's."""

    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            total = x.sum()
            ctx.total = total if run.remedied else total.item()  # cause
            return x.clamp(-1, 1)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.total

    @run.compile
    def clipped(x: Any) -> Any:
        return Clip.apply(x) * 2  # type: ignore[no-untyped-call]  # torch says no types of it

    clipped(ones(3, requires_grad=True))


@case(
    "pytorch#133230", "why-failed",
    cause=("Unsupported while tracing", "torch.autograd.grad"),
    advice="trace_autograd_ops = True",
    counts=(0, 1),
)  # fmt: skip
def gradient_in_one_graph(run: Run) -> None:
    @run.whole
    def derived(x: Any) -> Any:
        y = x**3
        (slope,) = torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y))  # cause
        return y.detach(), slope

    with config.patch(trace_autograd_ops=run.remedied), contextlib.suppress(Exception):
        derived(torch.ones(2, requires_grad=True))


@case(
    "pytorch#120814", "why-failed",
    cause=("Unsupported while tracing", "Unsupported Tensor.backward() call"),
    advice="call backward outside of the compiled function",
    counts=(0, 1),
)  # fmt: skip
def trained_in_one_graph(run: Run) -> None:
    layer = nn.Linear(2, 2)

    @run.whole
    def trained(x: Any) -> Any:
        loss = layer(x).sum()
        if not run.remedied:
            loss.backward()  # cause
        return loss

    with contextlib.suppress(Exception):
        loss = trained(ones(2))
        if run.remedied:
            loss.backward()


@case(
    "", "why-failed",
    cause=("returned an invalid gradient at index 0", "in AOTAutograd"),
    advice="returns a gradient of another shape than the argument has",
    counts=(1, 1),
)  # fmt: skip
def gradient_of_another_shape(run: Run) -> None:
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad if run.remedied else grad[:1]

    @functools.partial(torch.compile, backend=run.traced_again)
    def halved(x: Any) -> Any:
        return Half.apply(x).sum()  # type: ignore[no-untyped-call]  # cause

    with run.failing():
        halved(ones(2, requires_grad=True)).backward()


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
