"""Programs of a seventeenth sweep: numbers with which something is computed before Python takes
them, breaks with nothing to compute on one side, and others."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn, ones
from torch.nn.utils import parametrize

from tests.answers.cases import Run, case

FUNCTIONS = [torch.sin, torch.cos, torch.tan]


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="change: the number is all that an input of the function holds: hand it over as a",
    counts=(3, 2),
    never=("no setting helps",),
)  # fmt: skip
def function_by_the_number_of_an_input(run: Run) -> None:
    """With the setting it would be a symbol whose value is known."""

    @run.compile
    def applied(x: Any, at: Any) -> Any:
        doubled = x * 2
        index = at if run.remedied else at.item()  # cause
        return FUNCTIONS[index](doubled)

    for at in (1, 2):
        applied(ones(2), at if run.remedied else torch.tensor(at))


@case(
    "", "why-break",
    cause=("capture_scalar_outputs=False", "1 graph split"),
    advice="Python finds an element by the number, which is data, and no setting helps",
    counts=(2, 1),
    never=("no fewer graphs", "keep the value a tensor; or"),
)  # fmt: skip
def element_by_twice_the_sum(run: Run) -> None:
    """It is computed with before it is an index."""
    values = [ones(2) * number for number in range(6)]

    @run.compile
    def added(x: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            at = x.sum().long()[None] * 2
            return doubled + torch.stack(values).index_select(0, at)[0]
        at = int(x.sum()) * 2  # cause
        return doubled + values[at]

    added(ones(2))


@case(
    "", "why-break",
    cause="Dynamic shape operator",
    advice="Python itself takes how many elements come out, which is data (to find an element",
    counts=(2, 1),
    never=("use torch.where on the whole tensor; or",),
)  # fmt: skip
def element_by_how_many_are_left(run: Run) -> None:
    @run.compile
    def found(x: Any, values: Any) -> Any:
        if run.remedied:
            at = (x > 0).sum()[None]
            return torch.stack(values).index_select(0, at)[0] + x
        left = x[x > 0]  # cause
        return values[left.numel()] + x

    found(ones(2), [ones(2) * number for number in range(4)])


@case(
    "", "why-break",
    cause="2 graph breaks of 1 cause: no graph split",
    advice="leave it: the library asks for this break itself, as torch's optimizers do",
    counts=(1, 1),
    never=("or do without",),
)  # fmt: skip
def only_steps_of_an_optimizer(run: Run) -> None:
    """Without it there is a graph for the step, and none for anything else."""
    layer = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(ones(1, 2)).sum().backward()

    @run.compile
    def stepped() -> None:
        optimizer.step()

    stepped()


@case(
    "", "why-break",
    cause="1 graph break of 1 cause: no graph split",
    advice="prints after the graph (no fewer graphs: all that is computed lies on one side",
    counts=(1, 1),
)  # fmt: skip
def printed_before_anything(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        if not run.remedied:
            print("doubled")  # cause
        return x * 2

    doubled(ones(2))


@case(
    "", "why-recompile",
    cause="self.step grows: 0, 1, 2",
    advice="The program finds an element by self.step: do that outside of the compiled function",
    counts=(3, 1),
    never=("allow_unspec_int", "in a tensor"),
)  # fmt: skip
def layer_of_each_step(run: Run) -> None:
    """It finds by what is left of the number."""

    class Cycled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
            self.step = 0

        def forward(self, x: Any) -> Any:
            return self.layers[self.step % 3](x)  # cause

    cycled = Cycled()
    by_step = run.compile(cycled)
    by_layer = run.compile(lambda x, layer: layer(x))
    for step in range(3):
        cycled.step = step
        if run.remedied:
            by_layer(ones(1, 2), cycled.layers[step % 3])
        else:
            by_step(ones(1, 2))


@case(
    "", "why-break",
    cause="Encountered input mutation during higher order op tracing",
    advice="change nothing that the function is given: return a new tensor instead",
    counts=(0, 1),
)  # fmt: skip
def written_in_one_branch(run: Run) -> None:
    """To blame is the line that writes, not that of torch.cond."""

    @run.compile
    def chosen(x: Any, times: Any) -> Any:
        def counted(x: Any) -> Any:
            if not run.remedied:
                times.add_(1)  # cause
            return x + 1

        return torch.cond(x.sum() > 0, counted, lambda x: x - 1, (x,)), times + 1

    with run.failing():
        chosen(ones(2), torch.zeros(2))


@case(
    "", "why-break",
    cause=("Dynamic shape operator, then graph break in loop", "1 frame given up"),
    advice="the program decides by how many elements come out, which is data",
    counts=(0, 1),
    never=("use torch.where on the whole tensor; or",),
)  # fmt: skip
def experts_that_nothing_is_routed_to(run: Run) -> None:
    """The whole function is given up, so that nothing is recorded of what comes later in it."""

    @run.compile
    def routed(x: Any) -> Any:
        best = x.argmax(-1)
        out = torch.zeros_like(x)
        for expert in range(2):
            if run.remedied:
                out = torch.where((best == expert)[:, None], x * expert, out)
                continue
            chosen = (best == expert).nonzero().flatten()  # cause
            if chosen.numel() == 0:
                continue
            out[chosen] = x[chosen] * expert
        return out

    routed(torch.eye(2))


@case(
    "", "why-recompile",
    cause="self.epoch grows: 1, 2, 3",
    advice="What is computed with self.epoch has to be a number of Python (dropout() of torch): do "
    "that outside of the compiled function, or accept an entry for each.",
    counts=(3, 1),
    never=("allow_unspec_int", "in a tensor"),
)  # fmt: skip
def dropped_more_each_epoch(run: Run) -> None:
    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.epoch = 0
            self.layer = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            y = self.layer(x)
            if run.remedied:
                return y
            rate = 0.1 * self.epoch  # cause
            return nn.functional.dropout(y, rate, self.training)

    dropping = Dropping()
    compiled = run.compile(dropping)
    for epoch in (1, 2, 3):
        dropping.epoch = epoch
        y = compiled(ones(1, 2))
        if run.remedied:
            nn.functional.dropout(y, 0.1 * epoch)


@case(
    "", "why-recompile",
    cause="_cache_enabled changes: 0, 1",
    advice="torch.nn.utils.parametrize._cache_enabled is torch's own, and a constant of the graph: "
    "have it alike at all calls.",
    counts=(2, 1),
    never=("over as an argument", "in a tensor"),
)  # fmt: skip
def weights_that_are_kept_at_times(run: Run) -> None:
    class Symmetric(nn.Module):
        def forward(self, weight: Any) -> Any:
            return weight + weight.T

    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Symmetric())

    @run.compile
    def applied(x: Any) -> Any:
        return layer(x)

    if not run.remedied:
        applied(ones(1, 2))
    for _ in range(2):
        with parametrize.cached():
            applied(ones(1, 2))
