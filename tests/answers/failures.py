"""Programs that fail to compile, as people reported them."""

from __future__ import annotations

import contextlib
import copy
import decimal
import functools
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@torch.library.custom_op("stepper_answers::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    """An operator of which nobody has said what it makes of a fake tensor."""
    return x * 2


@torch.library.custom_op("stepper_answers::tripled", mutates_args=())
def tripled(x: torch.Tensor) -> torch.Tensor:
    """One of which that is said."""
    return x * 3


tripled.register_fake(torch.empty_like)
torch.library.define("stepper_answers::halved", "(Tensor x) -> Tensor")
torch.library.impl("stepper_answers::halved", "CPU")(lambda x: x / 2)


@case(
    "pytorch#136002", "why-failed",
    cause=("ConstraintViolationError while building guards", "x.shape[0] is 5"),
    advice="do without mark_dynamic for it",
    counts=(1, 1),
)  # fmt: skip
def marked_and_compared(run: Run) -> None:
    @run.compile
    def scaled(x: Any) -> Any:
        if x.size(0) == 5:  # cause
            return x * 2
        return x + 1

    x = ones(5)
    if not run.remedied:
        torch._dynamo.mark_dynamic(x, 0)
    with contextlib.suppress(Exception):
        scaled(x)


@case(
    "pytorch#148040", "why-failed",
    cause=("ConstraintViolationError while building guards", "x.shape[0] is 10"),
    advice="torch._dynamo.maybe_mark_dynamic",
    counts=(1, 1),
)  # fmt: skip
def marked_and_multiplied(run: Run) -> None:
    fixed = ones(10, 10)

    @run.compile
    def product(x: Any) -> Any:
        return torch.matmul(fixed, x)  # cause

    x = ones(10, 10)
    mark = torch._dynamo.maybe_mark_dynamic if run.remedied else torch._dynamo.mark_dynamic
    mark(x, 0)
    with contextlib.suppress(Exception):
        product(x)


@case(
    "pytorch#145587", "why-failed",
    cause=(
        "ConstraintViolationError while building guards",
        "a.shape[0] is 4",
        "a symbol because it was marked by mark_dynamic",
    ),
    advice="mark b as well, which has this size as a number there; or do without mark_dynamic",
    counts=(1, 1),
)  # fmt: skip
def one_of_two_marked(run: Run) -> None:
    @run.compile
    def added(a: Any, b: Any) -> Any:
        return a + b  # cause

    a, b = ones(4, 3), ones(4, 3)
    for each in (a, b) if run.remedied else (a,):
        torch._dynamo.mark_dynamic(each, 0, min=2, max=10)
    with contextlib.suppress(Exception):
        added(a, b)


@case(
    "pytorch#151356", "why-failed",
    cause=(
        "ConstraintViolationError while building guards",
        "query.shape[2] is 22",
        "requires Eq(s50, 22)",
    ),
    advice="do without mark_dynamic for it",
    counts=(1, 1),
)  # fmt: skip
def scores_of_one_length(run: Run) -> None:
    bias = ones(22)

    class Scored(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("bias", bias)

        def forward(self, query: Any) -> Any:
            scores = query @ query.transpose(1, 2)
            return scores.sum(1) + query.sum(1) + self.bias  # cause

    query = ones(2, 22, 22)
    mark = torch._dynamo.maybe_mark_dynamic if run.remedied else torch._dynamo.mark_dynamic
    mark(query, 2)
    with contextlib.suppress(Exception):
        run.compile(Scored())(query)


@case(
    "", "why-failed",
    cause=("Could not guard on data-dependent expression", "comes from"),
    advice="the program decides by a number that comes from data",
    counts=(0, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def decided_by_a_symbol(run: Run) -> None:
    @run.whole
    def chosen(x: Any) -> Any:
        count = x.sum().int()
        if run.remedied:
            return torch.where(count > 3, x + 1, x)
        if count.item() > 3:  # cause
            return x + 1
        return x

    with config.patch(capture_scalar_outputs=True), contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "", "why-failed",
    cause=("Unsupported while tracing", "Data-dependent branching"),
    advice="decide on tensors with torch.where",
    counts=(0, 1),
)  # fmt: skip
def branch_in_one_graph(run: Run) -> None:
    @run.whole
    def clipped(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where(x.sum() > 0, x - 1, x + 1)
        if x.sum() > 0:  # cause
            return x - 1
        return x + 1

    with contextlib.suppress(Exception):
        clipped(ones(2))


@case(
    "pytorch#107570", "why-failed",
    cause=(
        "Attempted to copy.deepcopy a tensor",
        ": Unsupported while tracing  tests/answers/failures.py",
    ),
    advice="copy before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def copied_in_one_graph(run: Run) -> None:
    @run.whole
    def copied(x: Any) -> Any:
        y = x.clone() if run.remedied else copy.deepcopy(x)
        return y + 1

    with contextlib.suppress(Exception):
        copied(ones(2))


@case(
    "", "why-failed",
    cause=("Unsupported while tracing", "builtin operator `print`"),
    advice="reorderable_logging_functions.add(print)",
    counts=(0, 1),
)  # fmt: skip
def printed_in_one_graph(run: Run) -> None:
    if run.remedied:
        config.reorderable_logging_functions.add(print)

    @run.whole
    def chatty(x: Any) -> Any:
        x = x * 2
        print("the mean is", x.mean())  # cause
        return x + 1

    with contextlib.suppress(Exception):
        chatty(ones(2))
    config.reorderable_logging_functions.discard(print)


@case(
    "", "why-failed",
    cause=("while tracing", "doubled"),
    advice="torch.library.register_fake",
    counts=(0, 1),
)  # fmt: skip
def operator_without_a_fake(run: Run) -> None:
    @run.whole
    def through(x: Any) -> Any:
        x = x + 1
        return tripled(x) if run.remedied else doubled(x)  # cause

    with contextlib.suppress(Exception):
        through(ones(2))


@case(
    "", "why-failed",
    cause=("TorchRuntimeError while tracing", "f32[2, 3]"),
    advice="",
    counts=(0, 1),
    never=("register_fake",),
)  # fmt: skip
def shapes_that_do_not_fit(run: Run) -> None:
    """The program is wrong, compiled or not."""

    @run.whole
    def product(x: Any) -> Any:
        other = x.T if run.remedied else x
        return x @ other  # cause

    with contextlib.suppress(Exception):
        product(ones(2, 3))


@case(
    "", "why-failed",
    cause=("two devices, cpu and meta", "y  f32[2]  on meta", "x  f32[2]  on cpu"),
    advice="y is on meta, x is on cpu: move one of them before; what is on meta has no data",
    never=("register_buffer",),
    counts=(0, 1),
)  # fmt: skip
def two_devices(run: Run) -> None:
    @run.whole
    def total(x: Any, y: Any) -> Any:
        return x + y  # cause

    with contextlib.suppress(Exception):
        total(ones(2), torch.empty(2, device="cpu" if run.remedied else "meta"))


@case(
    "", "why-failed",
    cause=("two devices, meta and cpu", "self.mask  f32[2, 2]  on cpu", "on meta"),
    advice="a module takes self.mask with it (.to, .cuda) only as a buffer: register_buffer",
    counts=(0, 1),
)  # fmt: skip
def mask_that_is_no_buffer(run: Run) -> None:
    class Masked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(ones(2, 2))
            if run.remedied:
                self.register_buffer("mask", torch.tril(ones(2, 2)))
            else:
                self.mask = torch.tril(ones(2, 2))

        def forward(self, x: Any) -> Any:
            h = x @ self.weight
            return h @ self.mask  # cause

    model = run.whole(Masked().to("meta"))
    with contextlib.suppress(Exception):
        model(ones(3, 2, device="meta"))


@case(
    "", "why-failed",
    cause=("TorchRuntimeError while tracing", "torch.cond"),
    advice="let both functions return the same",
    counts=(0, 1),
    never=("decide on tensors",),
)  # fmt: skip
def branches_that_differ(run: Run) -> None:
    @run.whole
    def chosen(x: Any) -> Any:
        other = torch.cos if run.remedied else torch.Tensor.int
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: other(x), (x,))  # cause

    with contextlib.suppress(Exception):
        chosen(ones(2))


@case(
    "", "why-failed",
    cause=("BackendCompilerFailed in the backend", "out of order"),
    advice="",
    counts=(0, 1),
    never=("while tracing",),
)  # fmt: skip
def backend_that_fails(run: Run) -> None:
    def refuses(graph: Any, example_inputs: Any) -> Any:
        raise ValueError("the backend is out of order")

    def computed(x: Any) -> Any:
        return x.sin() + 1

    compiled = run.compile(computed) if run.remedied else torch.compile(computed, backend=refuses)
    with contextlib.suppress(Exception):
        compiled(ones(2))


@case(
    "", "why-failed",
    cause=("BackendCompilerFailed in the backend", "the program never saw it"),
    advice="",
    counts=(0, 1),
)  # fmt: skip
def backend_whose_failure_is_suppressed(run: Run) -> None:
    def refuses(graph: Any, example_inputs: Any) -> Any:
        raise ValueError("the backend is out of order")

    def computed(x: Any) -> Any:
        return x.sin() + 1

    compiled = run.compile(computed) if run.remedied else torch.compile(computed, backend=refuses)
    with config.patch(suppress_errors=True):
        compiled(ones(2))


@case(
    "", "why-failed",
    cause=("TorchRuntimeError while tracing", "the program never saw it"),
    advice="",
    counts=(0, 1),
)  # fmt: skip
def tracing_whose_failure_is_suppressed(run: Run) -> None:
    @run.compile
    def product(x: Any) -> Any:
        return x @ (x.T if run.remedied else x)  # cause

    with config.patch(suppress_errors=True), contextlib.suppress(RuntimeError):
        product(ones(2, 3))


@case(
    "", "why-failed",
    cause=("RecursionError while tracing", "Decimal"),
    advice="",
    counts=(1, 1),
)  # fmt: skip
def decimal_number(run: Run) -> None:
    @run.compile
    def shifted(x: Any, known: float) -> Any:
        x = x * 2
        return x + (known if run.remedied else float(decimal.Decimal("1.5")))  # cause

    with contextlib.suppress(Exception):
        shifted(ones(2), 1.5)


@case(
    "", "why-failed",
    cause=("Unsupported while tracing", "graph_break()"),
    advice="remove the call; somebody asked for this break",
    counts=(0, 1),
)  # fmt: skip
def break_that_is_an_error(run: Run) -> None:
    @run.compile
    def broken(x: Any) -> Any:
        x = x * 2
        with torch._dynamo.error_on_graph_break(True):
            if not run.remedied:
                torch._dynamo.graph_break()  # cause
        return x + 1

    with contextlib.suppress(Exception):
        broken(ones(2))


@case(
    "", "why-failed",
    cause=("while tracing", "ValueError"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def own_exception(run: Run) -> None:
    @run.whole
    def refused(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            raise ValueError("not this")  # cause
        return x

    with contextlib.suppress(Exception):
        refused(ones(2))


@case(
    "", "why-failed",
    cause=("RuntimeError before tracing", "n: expected 1, actual 2  EQUALS_MATCH L['n']"),
    advice="call it with such inputs before the stance is set",
    counts=(1, 2),
)  # fmt: skip
def recompilation_refused(run: Run) -> None:
    def times(x: Any, n: int) -> Any:
        return x * n

    scaled = run.compile(times, fullgraph=True, dynamic=False)

    scaled(ones(2), 1)
    stance = "default" if run.remedied else "fail_on_recompile"
    with torch.compiler.set_stance(stance), run.failing():
        scaled(ones(2), 2)


@case(
    "", "why-failed",
    cause=("IndexError while tracing", "Dimension out of range"),
    advice="",
    counts=(0, 1),
)  # fmt: skip
def dimension_out_of_range(run: Run) -> None:
    layer = nn.Linear(2, 2)

    @run.whole
    def total(x: Any) -> Any:
        x = layer(x)
        return x.sum(dim=0 if run.remedied else 5)  # cause

    with contextlib.suppress(Exception):
        total(ones(2))


@case(
    "", "why-failed",
    cause=("Operator does not support running with fake tensors", "stepper_answers.halved"),
    advice="torch.library.register_fake",
    counts=(0, 1),
)  # fmt: skip
def defined_without_a_fake(run: Run) -> None:
    @run.whole
    def through(x: Any) -> Any:
        x = x + 1
        return tripled(x) if run.remedied else torch.ops.stepper_answers.halved(x)  # cause

    with contextlib.suppress(Exception):
        through(ones(2))


@case(
    "pytorch#127830", "why-shape", expression="u2",
    cause=(
        "u2 has no value while it is compiled",
        "an operator's result depends on data",
        "asserts u2 >= 0 when the graph runs",
    ),
    counts=(1, 1),
    never=("is free",),
)  # fmt: skip
def slice_between_items(run: Run) -> None:
    @run.whole
    def between(x: Any, bounds: Any) -> Any:
        first, last = bounds.tolist()
        return x[first:last]  # cause

    between(ones(8), torch.tensor([2, 5]))


@case(
    "vllm#27432", "why-failed",
    cause=(
        "RuntimeError before tracing",
        "2 <= x.shape[0] <= 4, with 6",
        "requires s77 <= 4, by POP_JUMP",
    ),
    advice="call it with such inputs before the stance is set",
    counts=(1, 1),
)  # fmt: skip
def size_refused(run: Run) -> None:
    @functools.partial(run.compile, dynamic=True)
    def padded(x: Any) -> Any:
        if not run.remedied and x.shape[0] > 4:
            return x * 2
        return x + 1

    padded(ones(3))
    with run.failing(), torch.compiler.set_stance("fail_on_recompile"):
        padded(ones(6))


@case(
    "", "why-failed",
    cause=("RecompileError before tracing", "x.shape[0]: expected 3, actual 4"),
    advice="Make x.shape[0] a symbol: torch._dynamo.mark_dynamic(x, 0) before the first call",
    counts=(1, 1),
)  # fmt: skip
def recompilation_that_is_an_error(run: Run) -> None:
    @run.compile
    def never_again(x: Any) -> Any:
        return x * 5  # cause

    with torch._dynamo.config.patch(error_on_recompile=True), contextlib.suppress(RuntimeError):
        for size in (3, 4):
            x = ones(size)
            if run.remedied:
                torch._dynamo.mark_dynamic(x, 0)
            never_again(x)


@case(
    "", "why-failed",
    cause=("TorchRuntimeError while tracing", "size mismatch"),
    advice="does not get to `except RuntimeError:` on line",
    counts=(0, 1),
)  # fmt: skip
def error_that_is_handled(run: Run) -> None:
    """An `except` around an operator is not reached while it is traced."""

    def multiplied(a: Any, b: Any) -> Any:
        return a @ b  # cause

    @run.compile
    def product_or_nothing(a: Any, b: Any) -> Any:
        if run.remedied and a.shape[1] != b.shape[0]:
            return a * 0
        try:
            return multiplied(a, b)
        except RuntimeError:
            return a * 0

    with contextlib.suppress(RuntimeError):
        product_or_nothing(ones(3, 2), ones(3))


class Ratios(tuple[float, ...]):
    """A tuple that has no length, as e3nn's Irrep has none."""

    def __len__(self) -> int:
        raise NotImplementedError("ratios have no length")


@case(
    "e3nn", "why-failed",
    cause=(
        "NotImplementedError while building guards", "ratios have no length",
        "the guard that it was at: SEQUENCE_LENGTH of ratios",
    ),
    counts=(1, 1),
    never=("which instruction made the guard is not recorded",),
)  # fmt: skip
def guard_that_asks_for_no_length(run: Run) -> None:
    @run.compile
    def scaled_by_ratios(x: Any, ratios: Any) -> Any:
        more = x + 1
        return more * ratios[0]  # cause

    with contextlib.suppress(Exception):
        scaled_by_ratios(ones(3), Ratios((2.0, 3.0)))
