"""Programs for kinds of graph breaks that few programs reach."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import torch
from torch import ones
from torch._subclasses.fake_tensor import UnsupportedOperatorException

from tests.answers.cases import Run, case


@case(
    "", "why-break",
    cause="Attempted to represent unregistered RemovableHandle",
    advice="register and remove hooks outside of the compiled function",
    counts=(0, 1),
)  # fmt: skip
def hook_removed_inside(run: Run) -> None:
    x = ones(4, requires_grad=True)
    handle = x.register_hook(lambda grad: grad * 2)

    @run.compile
    def unhooked(x: Any) -> Any:
        if not run.remedied:
            handle.remove()  # cause
        return x * 2

    unhooked(x)


@case(
    "", "why-break",
    cause="Backend compiler exception",
    advice="try backend='aot_eager' to see which part",
    counts=(0, 1),
)  # fmt: skip
def backend_without_an_operator(run: Run) -> None:
    def backend(graph: Any, example_inputs: Any) -> Any:
        if run.remedied:
            return run(graph, example_inputs)
        raise UnsupportedOperatorException(torch.ops.aten.mul.Tensor)

    @torch.compile(backend=backend)
    def doubled(x: Any) -> Any:
        return x * 2  # cause

    doubled(ones(4))


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
    "", "why-break",
    cause="Failed to mutate tensor data attribute to different dtype",
    advice="make a new tensor instead of assigning .data",
    counts=(2, 1),
)  # fmt: skip
def data_in_half_precision(run: Run) -> None:
    @run.compile
    def halved(x: Any) -> Any:
        y = x * 2
        if run.remedied:
            return y + x.half()
        x.data = y.half()  # cause
        return y + x

    halved(ones(4))


@case(
    "", "why-break",
    cause="Import failure",
    advice="import at the top of the file",
    counts=(0, 1),
)  # fmt: skip
def import_that_fails(run: Run) -> None:
    @run.compile
    def with_an_extra(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            try:  # noqa: SIM105  # it is what a program does
                import there_is_no_such_module  # type: ignore[import-not-found]  # noqa: F401  # cause
            except ImportError:
                pass
        return x + 1

    with_an_extra(ones(4))


@case(
    "", "why-break",
    cause="Missing bytecode handler",
    advice="compile a plain function that is called between the waits",
    counts=(0, 1),
    never=("write the statement differently",),
)  # fmt: skip
def coroutine_compiled(run: Run) -> None:
    async def factor() -> int:
        return 2

    async def awaited(x: Any) -> Any:
        y = x * 2
        return y * await factor()  # cause

    def plain(x: Any) -> Any:
        return x * 2 * 2

    if run.remedied:
        run.compile(plain)(ones(4))
    else:
        asyncio.run(run.compile(awaited)(ones(4)))


@case(
    "", "why-break",
    cause=("Tensor.numpy() with trace_numpy=False", "call `torch.from_numpy` with"),
    advice="trace_numpy = True",
    counts=(2, 1),
)  # fmt: skip
def numpy_turned_off(run: Run) -> None:
    torch._dynamo.config.trace_numpy = run.remedied

    @run.compile
    def rounded(x: Any) -> Any:
        y = (x * 2).numpy()  # cause
        return x + torch.from_numpy(y)

    rounded(ones(4))


@case(
    "", "why-break",
    cause="Unsupported Tensor.requires_grad_() call",
    advice="call requires_grad_ before the compiled function",
    counts=(2, 1),
)  # fmt: skip
def gradients_turned_on_for_an_input(run: Run) -> None:
    @run.compile
    def leaf(x: Any) -> Any:
        y = x * 2
        if not run.remedied:
            x.requires_grad_()  # cause
        return y + x

    leaf(ones(4, requires_grad=run.remedied))
