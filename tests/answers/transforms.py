"""torch.vmap, torch.func and the derivatives of torch.autograd.functional."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch._higher_order_ops import while_loop

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="functorch changes: none, vmap",
    advice="call it always under the same",
    counts=(2, 1),
    never=("reshape", "detach"),
)  # fmt: skip
def mapped_and_alone(run: Run) -> None:
    @torch.compile(backend="eager")  # under a transform Dynamo traces for no other
    def waved(x: Any) -> Any:
        return x.sin()  # cause

    (torch.vmap(waved) if run.remedied else waved)(ones(3, 3))
    torch.vmap(waved)(ones(3, 3))
    run.count_with_torch()


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="torch.vmap has no number for one of its calls",
    counts=(0, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def item_in_vmap(run: Run) -> None:
    """Torch itself does not know the number."""

    def weighed(x: Any) -> Any:
        total = x.sum()
        return x * (total if run.remedied else total.item())  # cause

    @run.compile
    def each_weighed(x: Any) -> Any:
        return torch.vmap(weighed)(x)

    with contextlib.suppress(RuntimeError):
        each_weighed(ones(3, 2))


@case(
    "pytorch#128711", "why-break",
    cause="Unsupported functorch tracing attempt",
    advice="compile what makes the transform, and not what it is made of",
    counts=(0, 1),
)  # fmt: skip
def mapped_from_outside(run: Run) -> None:
    def waved(x: Any) -> Any:
        return x.sin()

    (run.compile(torch.vmap(waved)) if run.remedied else torch.vmap(run.compile(waved)))(ones(3, 3))


@case(
    "", "why-break",
    cause="Failed to convert args/kwargs to proxy",
    advice="torch.func.hessian, which is traced",
    counts=(2, 1),
)  # fmt: skip
def curvature_of_a_loss(run: Run) -> None:
    def loss(x: Any) -> Any:
        return (x**3).sum()

    @run.compile
    def curved(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.func.hessian(loss)(x)
        return torch.autograd.functional.hessian(loss, x)  # cause

    curved(ones(2))


@case(
    "", "why-break",
    cause="Failed to convert args/kwargs to proxy",
    advice="torch.func.jacrev, which is traced",
    counts=(2, 1),
)  # fmt: skip
def slopes_of_a_map(run: Run) -> None:
    def warped(x: Any) -> Any:
        return x.sin()

    @run.compile
    def sloped(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.func.jacrev(warped)(x)
        return torch.autograd.functional.jacobian(warped, x)  # cause

    sloped(ones(2))


class Cubed(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


@case(
    "pytorch#129845", "why-break",
    cause="Unsupported hasattr call",
    advice="give it a function that calls that, e.g. a lambda",
    counts=(0, 1),
    never=("the line is a library's: take what",),
)  # fmt: skip
def mapped_autograd_function(run: Run) -> None:
    @run.compile
    def cubes(x: Any) -> Any:
        if run.remedied:
            return torch.vmap(lambda each: Cubed.apply(each))(x)
        return torch.vmap(Cubed.apply)(x)  # cause

    cubes(ones(3, 2))


@case(
    "", "why-failed",
    cause="calling .item() on a Tensor",
    advice="under torch.vmap a tensor has no number: keep it a tensor, without .item()",
    counts=(0, 1),
)  # fmt: skip
def number_of_each_that_is_mapped(run: Run) -> None:
    def scaled(x: Any, by: Any) -> Any:
        return x * (by if run.remedied else by.item())  # cause

    @run.whole
    def each_scaled(x: Any, by: Any) -> Any:
        return torch.vmap(scaled)(x, by)

    with contextlib.suppress(Exception):
        each_scaled(ones(3, 4), torch.arange(3))


@case(
    "", "why-failed",
    cause=("vmap: We do not support batching operators that can support dynamic shape",),
    advice="torch.where on the whole tensor, in place of what picks some",
    counts=(0, 1),
)  # fmt: skip
def picked_in_each_row(run: Run) -> None:
    def of_a_row(row: Any) -> Any:
        if run.remedied:
            return torch.where(row > 0, row, 0).sum()
        return row[row > 0].sum()  # cause

    with run.failing():
        run.whole(lambda x: torch.vmap(of_a_row)(x))(ones(3, 2))


@case(
    "", "why-failed",
    cause="NYI SymInt equality",
    advice="the operator takes no symbol: hand power over as a tensor",
    counts=(1, 1),
)  # fmt: skip
def power_under_a_transform(run: Run) -> None:
    @run.compile
    def differentiated(x: Any, power: Any) -> Any:
        return torch.func.jvp(lambda v: (v**power).sin(), (x,), (x,))  # cause

    for power in (2, 3):
        with run.failing():
            differentiated(ones(2), torch.tensor(power) if run.remedied else power)


@case(
    "", "why-failed",
    cause=("x must be Tensor or scalar, got SymInt", "while tracing"),
    advice="the operator takes no symbol: hand times over as a tensor",
    counts=(1, 2),
)  # fmt: skip
def number_in_a_mapped_gradient(run: Run) -> None:
    @run.compile
    def gradients(xs: Any, times: Any) -> Any:
        def loss(x: Any) -> Any:
            return x.sum() * times  # cause

        return torch.func.vmap(torch.func.grad(loss))(xs)

    for times in (2, 3):
        with run.failing():
            gradients(ones(2, 3), torch.tensor(times) if run.remedied and times == 3 else times)


@case(
    "pytorch#175522", "why-failed",
    cause="Cannot access storage of BatchedTensorImpl",
    advice="what is called there does not go with torch.vmap: call it for the whole batch instead",
    counts=(0, 1),
)  # fmt: skip
def loop_that_is_mapped(run: Run) -> None:
    def increased(row: Any) -> Any:
        return while_loop(lambda r: r.sum() < 10, lambda r: (r + 1,), (row,))[0]  # cause

    def all_increased(rows: Any) -> Any:
        return while_loop(
            lambda r: (r.sum(-1) < 10).any(),
            lambda r: (torch.where(r.sum(-1, keepdim=True) < 10, r + 1, r),),
            (rows,),
        )[0]

    @run.whole
    def each_increased(rows: Any) -> Any:
        return all_increased(rows) if run.remedied else torch.vmap(increased)(rows)

    with run.failing():
        each_increased(ones(4, 3))
