"""Context managers, modes and context variables that are entered, made or asked inside."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="the torch function mode.calls changes",
    advice="An int that a torch function mode keeps is a constant of the graph. Keep",
    counts=(2, 1),
    never=("is compiled by itself",),
)  # fmt: skip
def calls_that_a_mode_counts(run: Run) -> None:
    class Counting(TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.calls: Any = torch.tensor(0) if run.remedied else 0

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.calls += 1  # cause
            return func(*args, **(kwargs or {}))

    @run.compile
    def waved(x: Any) -> Any:
        return x.sin()

    x = ones(2)
    with Counting():
        waved(x)
        waved(x)


precision = contextvars.ContextVar("precision", default=2)


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
    "", "why-break",
    cause=("Data-dependent branching", "Generators cannot be compiled directly"),
    advice="torch.where",
    counts=(0, 1),
    never=("there a generator is traced",),
)  # fmt: skip
def decided_within_a_scope(run: Run) -> None:
    """The generator was traced, and runs by itself since what called it was given up."""

    @contextlib.contextmanager
    def scope(depth: int) -> Iterator[int]:
        yield depth + 1

    @run.compile
    def scaled(x: Any) -> Any:
        with scope(1) as depth:
            y = x * depth
            if run.remedied:
                return torch.where(y.sum() > 3, y + 1, y)
            if y.sum() > 3:  # cause
                y = y + 1
        return y

    scaled(ones(2))


@case(
    "", "why-break",
    cause=("Attempted to call function marked as skipped", "in _BaseExitStack.enter_context"),
    advice="enter it by a with statement, which is followed",
    counts=(0, 1),
)  # fmt: skip
def mode_that_a_stack_enters(run: Run) -> None:
    @run.compile
    def without_a_gradient(x: Any) -> Any:
        x = x + 1
        if run.remedied:
            with torch.no_grad():
                return x * 2
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())  # cause
            return x * 2

    without_a_gradient(ones(2))


@case(
    "", "why-break",
    cause="Attempted to inline function marked as skipped",
    advice="enter it around the call of the compiled function instead of inside",
    counts=(1, 1),
)  # fmt: skip
def kept_elsewhere_on_the_way(run: Run) -> None:
    def kept(tensor: Any) -> Any:
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks

    @run.compile
    def squared(x: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            return (doubled * doubled).sum()
        with torch.autograd.graph.saved_tensors_hooks(kept, kept):  # cause
            return (doubled * doubled).sum()

    x = ones(3, requires_grad=True)
    with hooks(kept, kept) if run.remedied else contextlib.nullcontext():
        squared(x)
