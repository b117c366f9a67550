"""Programs after public reports on compilations that fail: small ones, each with the cause that the
report is about."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


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
    "pytorch#167927", "why-failed",
    cause=("Unsupported while tracing", "torch.compiler.disable"),
    advice="remove torch.compiler.disable",
    counts=(0, 1),
)  # fmt: skip
def disabled_in_one_graph(run: Run) -> None:
    def helper(x: Any) -> Any:
        return x + 1

    off = helper if run.remedied else torch.compiler.disable(helper)

    @run.whole
    def calls(x: Any) -> Any:
        x = x * 2
        return off(x) * 3  # cause

    with contextlib.suppress(Exception):
        calls(ones(2))


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
    "pytorch#141034", "why-failed",
    cause=("ConstraintViolationError while building guards", "labels.shape[0] is 4"),
    advice="torch._dynamo.maybe_mark_dynamic",
    counts=(1, 1),
)  # fmt: skip
def marked_labels(run: Run) -> None:
    @run.compile
    def loss(logits: Any, labels: Any) -> Any:
        return nn.functional.cross_entropy(logits, labels)  # cause

    labels = torch.tensor([0, 1, 2, 0])
    mark = torch._dynamo.maybe_mark_dynamic if run.remedied else torch._dynamo.mark_dynamic
    mark(labels, 0)
    with contextlib.suppress(Exception):
        loss(ones(4, 3), labels)


@case(
    "pytorch#122307", "why-failed",
    cause=("ConstraintViolationError while building guards", "x.shape[0] is 5"),
    advice="do without mark_dynamic for it",
    counts=(1, 1),
)  # fmt: skip
def marked_and_bounded_from_both_sides(run: Run) -> None:
    @run.compile
    def shaped(x: Any) -> Any:
        if x.shape[0] > 5:
            return x.cos()
        if x.shape[0] < 5:  # cause
            return x * 2
        return x.sin()

    x = ones(5, 3)
    if not run.remedied:
        torch._dynamo.mark_dynamic(x, 0)
    with contextlib.suppress(Exception):
        shaped(x)


@case(
    "torchrec#4338", "why-failed",
    cause=("FailOnRecompileLimitHit", "L['counted'].updates"),
    advice="allow_unspec_int_on_nn_module = True",
    counts=(8, 2),
)  # fmt: skip
def counter_in_one_graph(run: Run) -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.updates = 0

    counted = Counted()

    @run.whole
    def updated(x: Any) -> Any:
        counted.updates += 1
        return x * counted.updates

    with (
        config.patch(allow_unspec_int_on_nn_module=run.remedied),
        contextlib.suppress(Exception),
    ):
        for _ in range(10):
            updated(ones(2))


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
    "pytorch#139603", "why-failed",
    cause=("NotImplementedError while tracing", "<class 'set'>"),
    advice="",
    counts=(0, 1),
)  # fmt: skip
def forked_for_a_set(run: Run) -> None:
    @run.compile
    def drawn(x: Any) -> Any:
        x = x * 2
        with torch.random.fork_rng(devices=[] if run.remedied else set()):  # cause
            return x + torch.rand(2)

    with contextlib.suppress(Exception):
        drawn(ones(2))


@case(
    "pytorch#129658", "why-failed",
    cause=("Unsupported before tracing", "Attempt to trace generator"),
    advice="compile the function that calls it",
    counts=(0, 1),
)  # fmt: skip
def generator_in_one_graph(run: Run) -> None:
    def each(x: Any) -> Any:
        for power in range(2):
            yield x**power

    def all_of_them(x: Any) -> Any:
        return list(each(x))

    compiled = run.whole(all_of_them if run.remedied else each)
    with contextlib.suppress(Exception):
        compiled(ones(2))


@case(
    "pytorch#194596", "why-failed",
    cause=("Data-dependent branching", "torch/distributions/wishart.py"),
    advice="the line is a library's: take what `return torch.distributions.Wishart(",
    counts=(0, 1),
)  # fmt: skip
def distribution_that_checks(run: Run) -> None:
    known = torch.distributions.Wishart(torch.tensor(4.0), torch.eye(2))

    @run.whole
    def averaged(freedom: Any, scale: Any) -> Any:
        if run.remedied:
            return known.mean + scale
        return torch.distributions.Wishart(freedom, scale).mean + scale  # cause

    with contextlib.suppress(Exception):
        averaged(torch.tensor(4.0), torch.eye(2))


@case(
    "pytorch#145970", "why-failed",
    cause=("Unsupported while tracing", "aten.equal.default"),
    advice="torch.where",
    counts=(0, 1),
    never=("capture_scalar_outputs",),
)  # fmt: skip
def branch_on_equality(run: Run) -> None:
    known = ones(2)

    @run.whole
    def squared_if_known(x: Any) -> Any:
        if run.remedied:
            return torch.where((x == known).all(), x * x, x)
        if torch.equal(x, known):  # cause
            return x * x
        return x

    with contextlib.suppress(Exception):
        squared_if_known(ones(2))


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
    "pytorch#158058", "why-failed",
    cause=("PendingUnbackedSymbolNotFound while tracing", "Pending unbacked symbols"),
    advice="pass its .item()",
    counts=(0, 1),
)  # fmt: skip
def tensors_where_numbers_stand(run: Run) -> None:
    @run.compile
    def between(bounds: Any) -> Any:
        first, last = bounds
        if run.remedied:
            return torch.arange(first.item(), last.item())
        return torch.arange(first, last)  # cause

    with config.patch(capture_scalar_outputs=True), contextlib.suppress(Exception):
        between(torch.tensor([2, 4]))


@case(
    "pytorch#147210", "why-failed",
    cause=("UncapturedHigherOrderOpError while tracing", "input mutation"),
    advice="change nothing that the function is given",
    counts=(0, 1),
)  # fmt: skip
def rows_written_in_a_loop(run: Run) -> None:
    @run.compile
    def filled(x: Any) -> Any:
        result = torch.zeros(3, 2)

        def goes_on(i: Any, x: Any) -> Any:
            return i < 3

        def body(i: Any, x: Any) -> Any:
            if not run.remedied:
                result.index_copy_(0, i.reshape(1), x.reshape(1, 2))
            return i + 1, x * 2

        _, x = torch._higher_order_ops.while_loop(  # cause
            goes_on, body, (torch.tensor(0), x)
        )
        return result + x

    with contextlib.suppress(Exception):
        filled(ones(2))


@case(
    "pytorch#114353", "why-failed",
    cause=("Unsupported while tracing", "Dynamic shape operator (no meta kernel)"),
    advice="call it outside of the compiled function",
    counts=(0, 1),
)  # fmt: skip
def least_squares_in_one_graph(run: Run) -> None:
    """With the setting that Dynamo's hint names, which does not help."""
    known = torch.linalg.lstsq(torch.eye(2), torch.eye(2)).solution

    @run.whole
    def solved(a: Any, b: Any) -> Any:
        solution = known if run.remedied else torch.linalg.lstsq(a, b).solution  # cause
        return a + solution

    with (
        config.patch(capture_dynamic_output_shape_ops=True),
        contextlib.suppress(Exception),
    ):
        solved(torch.eye(2), torch.eye(2))


@case(
    "pytorch#171860", "why-failed",
    cause="Attempt to trace forbidden callable",
    advice="call it before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def marked_inside(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        if not run.remedied:
            torch._dynamo.mark_dynamic(x, 0)  # cause
        return x * 2

    x = ones(4)
    if run.remedied:
        torch._dynamo.mark_dynamic(x, 0)
    with contextlib.suppress(Exception):
        doubled(x)
