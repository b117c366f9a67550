"""Programs after public reports on graph breaks: small ones, each with the cause that the report is
about."""

from __future__ import annotations

import contextlib
import contextvars
from typing import Any

import msgspec
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.checkpoint import checkpoint

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config
precision = contextvars.ContextVar("precision", default=2)


@case(
    "pytorch#192343", "why-break",
    cause="aten.bincount.default",
    advice="capture_dynamic_output_shape_ops = True",
    counts=(2, 1),
)  # fmt: skip
def counted_bins(run: Run) -> None:
    config.capture_dynamic_output_shape_ops = run.remedied

    @run.compile
    def shares(labels: Any) -> Any:
        labels = labels + 1
        counts = torch.bincount(labels)  # cause
        return counts / counts.sum()

    shares(torch.tensor([0, 2, 2]))
    config.capture_dynamic_output_shape_ops = False


@case(
    "pytorch#145970", "why-break",
    cause="aten.equal.default",
    advice="(a == b).all()",
    counts=(2, 1),
    never=("capture_scalar_outputs",),
)  # fmt: skip
def compared_as_a_whole(run: Run) -> None:
    """capture_scalar_outputs does nothing for an operator that returns a Python value itself."""
    known = ones(2)

    @run.compile
    def marked(x: Any) -> Any:
        x = x * 2
        same = (x == known).all() if run.remedied else torch.equal(x, known)  # cause
        return x + same

    marked(ones(2))


@case(
    "pytorch#88576", "why-break",
    cause="torch.Generator.manual_seed()",
    advice="seed the generator before the compiled function",
    counts=(2, 1),
)  # fmt: skip
def generator_given_a_seed(run: Run) -> None:
    generator = torch.Generator()

    @run.compile
    def seeded(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            generator.manual_seed(7)  # cause
        return x + 1

    seeded(ones(2))


@case(
    "pytorch#186449", "why-break",
    cause=("method `get`", "ContextVar"),
    advice="call the method outside",
    counts=(2, 1),
)  # fmt: skip
def context_variable(run: Run) -> None:
    @run.compile
    def scaled(x: Any, known: int) -> Any:
        x = x * 2
        return x * (known if run.remedied else precision.get())  # cause

    scaled(ones(2), precision.get())


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
    "pytorch#173452", "why-break",
    cause=("torch.compiler.disable", "called by tests/answers/reported_breaks.py"),
    advice="remove torch.compiler.disable",
    counts=(2, 1),
)  # fmt: skip
def hook_that_is_disabled(run: Run) -> None:
    layer = nn.Linear(2, 2)
    seen: list[Any] = []

    def hook(module: Any, inputs: Any, output: Any) -> None:
        seen.append(output)

    layer.register_forward_hook(hook if run.remedied else torch.compiler.disable(hook))

    @run.compile
    def activated(x: Any) -> Any:
        return layer(x).relu()

    activated(ones(2))


@case(
    "pytorch#162375", "why-break",
    cause=("pack_padded_sequence", "marked as skipped"),
    advice="call it before or after the compiled function",
    counts=(2, 1),
)  # fmt: skip
def sequences_packed_inside(run: Run) -> None:
    lengths = torch.tensor([3, 2])

    @run.compile
    def packed(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x + 1
        return pack_padded_sequence(x, lengths, batch_first=True).data + 1  # cause

    packed(ones(2, 3, 1))


class Managed:
    """A context manager of the program's."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *error: object) -> None:
        """Do nothing."""


@case(
    "pytorch#149676", "why-break",
    cause=("graph_break()", "then Graph break under GenericContextWrappingVariable"),
    advice="remove the call; somebody asked for this break",
    counts=(0, 1),
)  # fmt: skip
def break_inside_a_manager(run: Run) -> None:
    @run.compile
    def managed(x: Any) -> Any:
        x = x * 2
        with Managed():
            if not run.remedied:
                torch._dynamo.graph_break()  # cause
            return x + 1

    managed(ones(2))


@case(
    "pytorch#146797", "why-break",
    cause=("torch.compiler.disable", "__init__"),
    advice="remove torch.compiler.disable",
    counts=(2, 1),
)  # fmt: skip
def manager_that_is_made_outside(run: Run) -> None:
    def made(self: Any) -> None:
        torch.overrides.TorchFunctionMode.__init__(self)

    class Mode(torch.overrides.TorchFunctionMode):
        __init__ = made if run.remedied else torch.compiler.disable(made)

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    @run.compile
    def moded(x: Any) -> Any:
        x = x * 2
        with Mode():  # cause
            return x + 1

    moded(ones(2))


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
    "pytorch#139989", "why-break",
    cause="msgspec._core.json_encode",
    advice="wrap your own C or CUDA code as a custom operator",
    counts=(2, 1),
)  # fmt: skip
def code_in_c_under_a_checkpoint(run: Run) -> None:
    """The whole region that is checkpointed runs uncompiled."""

    def region(x: Any) -> Any:
        x = x.sin()
        if not run.remedied:
            msgspec.json.encode(1)  # cause
        return x.cos()

    @run.compile
    def checkpointed(x: Any) -> Any:
        x = x * 2
        return checkpoint(region, x, use_reentrant=False) + 1

    checkpointed(torch.ones(2, requires_grad=True))


@case(
    "prime-rl#996", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="capture_scalar_outputs = True",
    counts=(1, 1),
)  # fmt: skip
def tokens_of_each_expert(run: Run) -> None:
    config.capture_scalar_outputs = run.remedied

    @run.compile
    def routed(x: Any, counts: Any) -> Any:
        sizes = counts.tolist()  # cause
        parts = torch.split(x, sizes)
        return torch.cat([part * 2 for part in parts])

    routed(ones(6, 2), torch.tensor([2, 4]))
    config.capture_scalar_outputs = False


@case(
    "pytorch#114353", "why-break",
    cause="aten.linalg_lstsq.default",
    advice="call it outside of the compiled function",
    counts=(2, 1),
    never=("capture_dynamic_output_shape_ops",),
)  # fmt: skip
def least_squares(run: Run) -> None:
    """The setting for operators of this kind does not help: it breaks all the same."""
    known = torch.linalg.lstsq(torch.eye(2), torch.eye(2)).solution

    @run.compile
    def solved(a: Any, b: Any) -> Any:
        a = a * 2
        solution = known if run.remedied else torch.linalg.lstsq(a, b).solution  # cause
        return a + solution

    solved(torch.eye(2), torch.eye(2))


@case(
    "pytorch#122171", "why-break",
    cause=("one_hot", "data-dependent output shape"),
    advice="num_classes",
    counts=(2, 1),
)  # fmt: skip
def classes_that_are_not_given(run: Run) -> None:
    @run.compile
    def encoded(x: Any) -> Any:
        labels = x.argmax(dim=-1)
        known = 3 if run.remedied else -1
        return nn.functional.one_hot(labels, known) + 1  # cause

    encoded(ones(2, 3))


@case(
    "torchdynamo#739", "why-break",
    cause="Tensor.item()",
    advice="capture_scalar_outputs = True",
    counts=(1, 1),
)  # fmt: skip
def sliced_by_a_tensor(run: Run) -> None:
    config.capture_scalar_outputs = run.remedied

    @run.compile
    def rest(x: Any, where: Any) -> Any:
        x = x * 2
        first = where[0]
        return x[first:] + 1  # cause

    rest(ones(8), torch.tensor([1, 2]))
    config.capture_scalar_outputs = False


@case(
    "pytorch#180406", "why-break",
    cause="Data-dependent branching",
    advice="torch.where",
    counts=(3, 1),
    never=("_assert_async",),
)  # fmt: skip
def clamped_where_not_finite(run: Run) -> None:
    @run.compile
    def clamped(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where(torch.isfinite(x), x, x.clamp(-1, 1)) + 1
        if x.isinf().any() or x.isnan().any():  # cause
            x = x.clamp(-1, 1)
        return x + 1

    clamped(ones(2))


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
    "pytorch#196172", "why-break",
    cause="Failed to convert args/kwargs to proxy",
    advice="pass a tensor or a number instead",
    counts=(1, 1),
)  # fmt: skip
def sliced_by_an_object(run: Run) -> None:
    """The program raises nothing without torch.compile."""

    class Position:
        def __index__(self) -> int:
            return 2

    place = Position()

    @run.compile
    def upto(x: Any) -> Any:
        x = x * 2
        return x[: 2 if run.remedied else place] + 1  # cause

    with contextlib.suppress(TypeError):
        upto(ones(4))


@case(
    "pytorch#194593", "why-break",
    cause=("Data-dependent branching", "called by tests/answers/reported_breaks.py"),
    advice="the line is a library's: take what `return torch.distributions.kl_divergence(",
    counts=(1, 1),
)  # fmt: skip
def divergence_that_checks(run: Run) -> None:
    known = torch.tensor(0.5)
    counts = torch.tensor([5.0])

    def binomial(share: Any) -> Any:
        return torch.distributions.Binomial(total_count=counts, probs=share)

    @run.compile
    def divergence(one: Any, other: Any) -> Any:
        if run.remedied:
            return known + one - other
        return torch.distributions.kl_divergence(binomial(one), binomial(other))  # cause

    divergence(torch.tensor([0.2]), torch.tensor([0.4]))


@case(
    "pytorch#126360", "why-break",
    cause=("skipped without a graph break", "Attempt to trace generator"),
    advice="compile the function that calls it",
    counts=(0, 1),
)  # fmt: skip
def generator_that_is_compiled(run: Run) -> None:
    """Its frame runs uncompiled, and nothing else says so."""

    def each(x: Any) -> Any:
        for power in range(2):
            yield x**power

    def all_of_them(x: Any) -> Any:
        return list(each(x))

    compiled = run.compile(all_of_them if run.remedied else each)
    list(compiled(ones(2)))


@case(
    "pytorch#94626", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="torch.logical_not",
    counts=(1, 1),
    never=("capture_scalar_outputs",),
)  # fmt: skip
def negated_tensor(run: Run) -> None:
    """capture_scalar_outputs does not help: then `not` returns no tensor, which is a break, too."""

    @run.compile
    def marked(x: Any) -> Any:
        x = x * 2
        found = (x > 3).any()
        return x + (torch.logical_not(found) if run.remedied else (not found))  # cause

    marked(ones(2))


@case(
    "pytorch#167266", "why-break",
    cause="Tensor.item()",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
)  # fmt: skip
def whether_all_are_zero(run: Run) -> None:
    config.capture_scalar_outputs = run.remedied

    @run.compile
    def shifted(x: Any, mask: Any) -> Any:
        x = x * 2
        causal = bool((mask == 0).all())  # cause
        return x + causal

    shifted(ones(2), torch.zeros(2))
    config.capture_scalar_outputs = False


@case(
    "pytorch#108904", "why-break",
    cause="Tensor.item()",
    advice="decide on tensors with torch.where",
    counts=(0, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def value_among_those_of_a_tensor(run: Run) -> None:
    @run.compile
    def ended(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where((x == 3).any(), x + 1, x)
        if 3 in x:  # cause
            return x + 1
        return x

    ended(ones(2))


@case(
    "pytorch#106821", "why-break",
    cause="Data-dependent branching",
    advice="torch.where",
    counts=(2, 1),
)  # fmt: skip
def named_in_its_condition(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        if run.remedied:
            result = x.to(torch.bool).any()
            return torch.where(result, result * 2, result)
        if result := x.to(torch.bool).any():  # cause
            result = result * 2
        return result

    doubled(torch.tensor([[0, 1]]))
