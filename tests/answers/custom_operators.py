"""Operators of the program's own, what they return for fake tensors and derive to, and functions
that Dynamo does not look into."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@torch.library.custom_op("stepper_answers::above", mutates_args=())
def above(x: torch.Tensor, least: float) -> torch.Tensor:
    """Where something is larger."""
    return torch.nonzero(x > least).squeeze(-1)


@above.register_fake
def _of_above(x: torch.Tensor, least: float) -> torch.Tensor:
    return x.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.long)


@case(
    "", "why-break",
    cause="stepper_answers.above.default",
    advice="the program decides by how many elements come out, which is data: with its setting it",
    counts=(1, 1),
    never=("the line is a library's",),
)  # fmt: skip
def detections_if_any(run: Run) -> None:
    """With the setting, `if len(…)` is an error."""

    @run.compile
    def summed(x: Any) -> Any:
        if run.remedied:
            return torch.where((x > 0.5).any(), x * (x > 0.5), x).sum()
        found = above(x, 0.5)
        return x[found].sum() if len(found) else x.sum()

    summed(ones(4))


@case(
    "", "why-break",
    cause="stepper_answers.above.default",
    advice="torch._dynamo.config.capture_dynamic_output_shape_ops = True",
    counts=(1, 1),
    never=("the line is a library's",),
)  # fmt: skip
def detections_of_ones_own(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x[above(x, 0.5)] * 2

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=run.remedied):
        doubled(ones(4))


@case(
    "", "why-failed",
    cause=("UserError while tracing", "raised in"),
    advice=(
        "asks for the number, which runs while the operator is traced: if that is the operator's "
        "fake, take torch.library.get_ctx().new_dynamic_size() for it"
    ),
    never=("the line is a library's",),
    counts=(0, 1),
)  # fmt: skip
def fake_that_asks_its_data(run: Run) -> None:
    @torch.library.custom_op("answers::expanded", mutates_args=())
    def expanded(counts: torch.Tensor) -> torch.Tensor:
        return torch.repeat_interleave(torch.arange(len(counts)), counts)

    @expanded.register_fake
    def _(counts: torch.Tensor) -> torch.Tensor:
        if run.remedied:
            return counts.new_empty(torch.library.get_ctx().new_dynamic_size())
        return counts.new_empty(int(counts.sum()))

    def regulated(x: Any, counts: Any) -> Any:
        return x[expanded(counts)]  # cause

    compiled = run.compile(regulated, fullgraph=True)
    with run.failing():
        compiled(ones(3, 2), torch.tensor([1, 2, 3]))


@torch.library.custom_op("stepper_answers::squared", mutates_args=())
def squared(x: torch.Tensor) -> torch.Tensor:
    """An operator of which nobody has said what it makes of a fake tensor."""
    return x * x


@torch.library.custom_op("stepper_answers::cubed", mutates_args=())
def cubed(x: torch.Tensor) -> torch.Tensor:
    """One of which that is said."""
    return x * x * x


cubed.register_fake(torch.empty_like)


@case(
    "lightning-thunder#2530", "why-failed",
    cause=("while tracing", "stepper_answers.squared"),
    advice="torch.library.register_fake",
    counts=(0, 1),
)  # fmt: skip
def operator_of_a_namespace_without_a_fake(run: Run) -> None:
    @run.whole
    def through(x: Any) -> Any:
        x = x + 1
        operators = torch.ops.stepper_answers
        return operators.cubed(x) if run.remedied else operators.squared(x)  # cause

    with contextlib.suppress(Exception):
        through(ones(2))


@case(
    "", "why-failed",
    cause=("broadcastable to [8]", "bench::every_second was traced with what the program"),
    advice="says of bench::every_second what it returns, with torch.library.opcheck",
    counts=(0, 1),
)  # fmt: skip
def pooled_by_a_wrong_fake(run: Run) -> None:
    """The operator returns 4, its fake says 8, and what is added has 4."""

    @torch.library.custom_op("bench::every_second", mutates_args=())
    def every_second(x: torch.Tensor) -> torch.Tensor:
        return x[::2].clone()

    @every_second.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return x.new_empty(x.shape[0] // 2 if run.remedied else x.shape[0])

    @run.compile
    def weighted(x: Any, weights: Any) -> Any:
        return every_second(x) + weights  # cause

    with run.failing():
        weighted(ones(8), ones(4))


@torch.library.custom_op("stepper_answers::turned", mutates_args=())
def turned(x: torch.Tensor) -> torch.Tensor:
    return x.flip(-1)


@turned.register_fake
def _turned(x: torch.Tensor) -> torch.Tensor:
    assert x.dim() == 2, "two dimensions are wanted"
    return torch.empty_like(x)


@case(
    "", "why-failed",
    cause=("AssertionError: two dimensions are wanted", "custom_operators.py"),
    counts=(0, 1),
)  # fmt: skip
def fake_that_refuses(run: Run) -> None:
    """The line that refuses is told, too: the last of what it was raised in."""

    @run.compile
    def twice(x: Any) -> Any:
        return turned(x) * 2  # cause

    with run.failing():
        twice(ones(2, 3) if run.remedied else ones(1, 2, 3))


@torch.library.custom_op("stepper_answers::bent", mutates_args=())
def bent(x: torch.Tensor) -> torch.Tensor:
    return x * x


@bent.register_fake
def _of_bent(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def _keep(ctx: Any, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _derivative(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
    (x,) = ctx.saved_tensors
    made = 2 * gradient * x
    return made if x.dim() > 1 else made[:2]


bent.register_autograd(_derivative, setup_context=_keep)


@case(
    "", "why-failed",
    cause=("BackendCompilerFailed in AOTAutograd", "bent(x)"),
    advice="",
    counts=(1, 1),
    never=("to blame is not recorded",),
)  # fmt: skip
def derivative_of_another_shape(run: Run) -> None:
    """torch names the derivative after the operator, of which there is one in the graph."""

    def f(x: Any) -> Any:
        return (bent(x[None])[0] if run.remedied else bent(x)).sum()  # cause

    with run.failing():
        torch.compile(f, backend=run.traced_again)(ones(3, requires_grad=True)).backward()


@case(
    "", "why-failed",
    cause=("BackendCompilerFailed in AOTAutograd", "of which node, is not recorded"),
    advice="",
    counts=(1, 1),
)  # fmt: skip
def one_of_two_derivatives(run: Run) -> None:
    def f(x: Any) -> Any:
        return (bent(bent(x[None]))[0] if run.remedied else bent(bent(x))).sum()

    with run.failing():
        torch.compile(f, backend=run.traced_again)(ones(3, requires_grad=True)).backward()


class Pair:
    """What pytrees know nothing of."""

    def __init__(self, first: torch.Tensor) -> None:
        self.first = first


@torch._dynamo.nonstrict_trace
def doubled(given: Any) -> Any:
    """What Dynamo does not look into."""
    return (given if isinstance(given, torch.Tensor) else given.first) * 2


@case(
    "", "why-failed",
    cause="Invalid input type for nonstrict_trace-ed function",
    advice="hand the function tensors, numbers and containers of them",
    counts=(0, 1),
)  # fmt: skip
def pair_that_is_not_looked_into(run: Run) -> None:
    @run.whole
    def handing_on(x: Any) -> Any:
        return doubled(x if run.remedied else Pair(x))  # cause

    with run.failing():
        handing_on(ones(3))


TABLE = ones(4)


@torch.library.custom_op("stepper_answers::looked_up", mutates_args=())
def looked_up(at: torch.Tensor) -> torch.Tensor:
    return TABLE[at]


@torch.library.custom_op("stepper_answers::looked_up_there", mutates_args=())
def looked_up_there(at: torch.Tensor) -> torch.Tensor:
    return TABLE[at]


@looked_up.register_fake
def _looked_up(at: Any) -> Any:
    return TABLE[at]


@looked_up_there.register_fake
def _looked_up_there(at: Any) -> Any:
    return at.new_empty(at.shape, dtype=TABLE.dtype)


@case(
    "", "why-failed",
    cause="Please convert all Tensors to FakeTensors first",
    advice="which says what stepper_answers::looked_up returns for fake tensors, computes with",
    counts=(0, 1),
)  # fmt: skip
def fake_that_looks_into_a_table(run: Run) -> None:
    @run.whole
    def shifted(at: Any) -> Any:
        if run.remedied:
            return looked_up_there(at) + 1
        return looked_up(at) + 1  # cause

    with run.failing():
        shifted(torch.tensor([1, 2]))


@case(
    "", "why-failed",
    cause=("in AOTAutograd", "the operator that it names is at the node copied"),
    advice="register its gradient: torch.library.register_autograd",
    counts=(0, 1),
    never=("in the backend", "which node of the graph is to blame", "is not recorded"),
)  # fmt: skip
def operator_without_a_derivative(run: Run) -> None:
    @torch.library.custom_op("tests_answers::copied", mutates_args=())
    def copied(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @copied.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    if run.remedied:
        copied.register_autograd(lambda ctx, grad: grad)
    backend = run.traced_again if run.remedied else "aot_eager"

    @torch.compile(backend=backend)
    def copied_twice(x: Any) -> Any:
        return copied(x) * 2  # cause

    with contextlib.suppress(Exception):
        copied_twice(ones(3, requires_grad=True))
