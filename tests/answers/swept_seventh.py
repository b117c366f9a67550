"""Programs of a seventh sweep, of hooks, caches, configurations and what libraries let through, of
which an answer was wrong, or said what did not help."""

from __future__ import annotations

import contextlib
import enum
import logging
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones
LOG = logging.getLogger("tests.answers.swept_seventh")
BETAS = np.linspace(0.1, 0.9, 5)


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
    cause="1. logging.Logger method not supported for non-export cases  tests/answers/",
    advice="log outside of the compiled function",
    counts=(1, 1),
    never=("1. logging.Logger method not supported for non-export cases  ~",),
    function="logged_and_resumed",
)  # fmt: skip
def logged_from_within(run: Run) -> None:
    """What Python's own functions break is there only since the program's line leaves the call."""
    LOG.setLevel(logging.DEBUG)
    LOG.propagate = False

    def logged_and_resumed(x: Any) -> Any:
        y = x.cos()
        if not run.remedied:
            LOG.debug("cosines %s", y)  # cause
        return y

    run.compile(logged_and_resumed)(ones(3))


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


class Carried(NamedTuple):
    """What a cell hands on."""

    hidden: Any
    steps: int


@case(
    "", "why-break",
    cause="No ops traced for the FX graph",
    advice="none that follows is compiled then",
    counts=(0, 1),
    function="cell_from_nothing",
)  # fmt: skip
def first_step_computes_nothing(run: Run) -> None:
    @run.compile
    def cell_from_nothing(x: Any, carried: Carried) -> Carried:
        hidden = x if carried.hidden is None else carried.hidden * 0.5 + x
        return Carried(hidden, carried.steps)

    carried = Carried(ones(2) if run.remedied else None, 0)
    for _ in range(3):
        carried = cell_from_nothing(ones(2), carried)


@case(
    "", "why-break",
    cause="TypeError when making fake tensor call",
    advice="make the array a tensor before the compiled function (torch.from_numpy)",
    counts=(2, 2),
)  # fmt: skip
def noise_of_a_step(run: Run) -> None:
    betas: Any = torch.from_numpy(BETAS) if run.remedied else BETAS

    @run.compile
    def noised(x: Any, step: Any) -> Any:
        return x * betas[step]  # cause

    for step in (2, 3):
        noised(ones(2), step)


@case(
    "", "why-break",
    cause="Attempted to call function marked as skipped",
    advice="compile the optimizer's step before the scheduler is made",
    counts=(1, 1),
    function="scheduled_step",
)  # fmt: skip
def step_that_a_scheduler_has_wrapped(run: Run) -> None:
    weight = nn.Parameter(ones(2))
    optimizer = torch.optim.SGD([weight], lr=torch.tensor(0.1))

    def scheduled_step() -> None:
        optimizer.step()  # cause

    step = run.compile(optimizer.step if run.remedied else scheduled_step)
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    weight.sum().backward()
    step()


@case(
    "", "why-recompile",
    cause="2 <= x.storage_offset() does not hold",
    advice="hand it over as x.clone()",
    counts=(3, 2),
)  # fmt: skip
def last_row_of_what_came(run: Run) -> None:
    @run.compile
    def next_row(x: Any) -> Any:
        return x * 2  # cause

    x = next_row(ones(3, 4))
    for _ in range(3):
        x = next_row(x[-1:].clone() if run.remedied else x[-1:])


class Part:
    """A configuration whose parts are made when they are asked for."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    def __getattr__(self, name: str) -> Any:
        value = self.content[name]
        return Part(value) if isinstance(value, dict) else value


@case(
    "", "is-guarded", expression="config.model.act",
    cause="config.model.act is what __getattr__ gives: what that reads is guarded",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def part_of_a_part(run: Run) -> None:
    config = Part({"model": {"act": "relu"}})

    @run.compile
    def activated(x: Any, config: Any) -> Any:
        return x.relu() if config.model.act == "relu" else x + 1

    activated(ones(2), config)
    if not run.remedied:
        config.content["model"]["act"] = "none"
    activated(ones(2), config)


class Output(OrderedDict[str, Any]):
    """A dictionary with its items as attributes."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


@case(
    "", "is-guarded", expression="output.hidden",
    cause="output.hidden is what __getattr__ gives: what that reads is guarded",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def item_as_an_attribute(run: Run) -> None:
    @run.compile
    def head(output: Any) -> Any:
        return output.hidden + 1

    head(Output(hidden=ones(2)))
    head(Output(hidden=ones(2) if run.remedied else ones(2).double()))


class Seen:
    """A cache that counts."""

    def __init__(self) -> None:
        self.counted = 0

    def update(self, x: Any) -> Any:
        return x + 1 if self.counted == 0 else x


@case(
    "", "is-guarded", expression="self.counted",
    cause=(
        "cache.counted is guarded: it must be 0",
        "self of an inlined function is cache of the compiled one",
    ),
    counts=(2, 1),
    function="WithCache.forward",
)  # fmt: skip
def attribute_of_an_inlined_cache(run: Run) -> None:
    class Layer(nn.Module):
        def forward(self, x: Any, cache: Any) -> Any:
            return cache.update(x)

    class WithCache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = Layer()

        def forward(self, x: Any, cache: Any) -> Any:
            return self.layer(x, cache)

    compiled, cache = run.compile(WithCache()), Seen()
    compiled(ones(2), cache)
    cache.counted = 0 if run.remedied else 5
    compiled(ones(2), cache)


@case(
    "", "is-guarded", expression="self.parent().scale",
    cause="self.child.parent().scale is guarded: it must be 2",
    counts=(2, 1),
    function="Parent.forward",
)  # fmt: skip
def scale_of_the_parent(run: Run) -> None:
    class Child(nn.Module):
        def __init__(self, parent: Any) -> None:
            super().__init__()
            self.parent: Any = weakref.ref(parent)

        def forward(self, x: Any) -> Any:
            return x * self.parent().scale

    class Parent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 2
            self.child = Child(self)

        def forward(self, x: Any) -> Any:
            return self.child(x)

    parent = Parent()
    compiled = run.compile(parent)
    compiled(ones(2))
    parent.scale = 2 if run.remedied else 3
    compiled(ones(2))


@case(
    "", "is-guarded", expression="blocks[0].index",
    cause="if its self is blocks[0], blocks[0].index is guarded",
    counts=(2, 1),
    function="Numbered.forward",
)  # fmt: skip
def number_of_a_block(run: Run) -> None:
    class Numbered(nn.Module):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

        def forward(self, x: Any) -> Any:
            return x + self.index

    blocks = [Numbered(1), Numbered(1 if run.remedied else 2)]
    forward = run.compile(Numbered.forward)
    for block in blocks:
        forward(block, ones(2))


class Mode(enum.IntFlag):
    """What is done."""

    RELU = 1
    BIAS = 2


@case(
    "", "is-guarded", expression="mode.value",
    cause="only the identity of mode is guarded, not mode.value",
    counts=(2, 1),
)  # fmt: skip
def value_of_a_flag(run: Run) -> None:
    @run.compile
    def flagged(x: Any, mode: Any) -> Any:
        return x.relu() if mode is Mode.RELU else x + 1

    flagged(ones(2), Mode.RELU)
    flagged(ones(2), Mode.RELU if run.remedied else Mode.BIAS)


@case(
    "", "why-recompile",
    cause=("dtype of x changes: float32, bfloat16", "type of x changes: Tensor, list"),
    advice="Pass x always as the same type",
    counts=(3, 2),
    never=("Tensor, list, Tensor",),
)  # fmt: skip
def batch_as_a_list_between(run: Run) -> None:
    """Nearest is what is as near and of the same type."""

    @run.compile
    def summed(x: Any) -> Any:
        if isinstance(x, list):  # cause
            x = torch.stack(x)
        return x.sum(0)

    summed(ones(2, 3))
    summed(ones(2, 3) if run.remedied else [ones(3), ones(3)])
    summed(ones(2, 3).bfloat16())


@case(
    "", "why-recompile",
    cause="length of group changes: 1, 2",
    advice="Hand over group always with the same keys",
    counts=(2, 1),
    never=("changed by the compiled function itself",),
)  # fmt: skip
def group_that_gets_a_key(run: Run) -> None:
    """The compiled function sets another value of a key that is there."""

    @run.compile
    def stepped(x: Any, group: Any) -> Any:
        group["lr"] = 0.5  # cause
        return x * sum(group.values())

    group = {"lr": 0.5}
    stepped(ones(2), group)
    if not run.remedied:
        group["capturable"] = 0.5
    stepped(ones(2), group)


@case(
    "", "is-guarded", expression="Settings().share",
    cause="nothing that can be asked about",
    counts=(2, 1),
)  # fmt: skip
def share_of_a_call(run: Run) -> None:
    """What a call gives is not what the program has once got from it."""

    class Settings:
        def __init__(self) -> None:
            self.share = 0.5

    settings = Settings()

    @run.compile
    def shared(x: Any) -> Any:
        return x * settings.share

    shared(ones(2))
    settings.share = 0.5 if run.remedied else 0.25
    shared(ones(2))
