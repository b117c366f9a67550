"""Steps of optimizers, their groups and schedulers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#163093", "why-recompile",
    cause="type of self.param_groups[0]['lr'] changes: Tensor, float",
    advice="Keep self.param_groups[0]['lr'] of one type",
    counts=(2, 1),
    function="RMSprop.step",
)  # fmt: skip
def plateau(run: Run) -> None:
    weight = ones(2, requires_grad=True)
    weight.grad = ones(2)
    optimizer = torch.optim.RMSprop([weight], lr=torch.tensor(0.1), foreach=False)
    stepped = run.compile(optimizer.step)
    group = optimizer.param_groups[0]
    for _ in range(3):
        stepped()
        lower = float(group["lr"]) * 0.5
        if run.remedied:
            group["lr"].fill_(lower)
        else:
            group["lr"] = lower


@case(
    "pytorch#133898", "why-recompile",
    cause="self.param_groups[0]['betas'][0] changes: 0.95, 0.8999999999999999",
    advice="torch.compile(dynamic=True)",
    counts=(2, 1),
    function="Adamax.step",
)  # fmt: skip
def cycle_of_the_betas(run: Run) -> None:
    weight = ones(2, requires_grad=True)
    weight.grad = ones(2)
    optimizer = torch.optim.Adamax([weight], lr=torch.tensor(0.1), foreach=False)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10)
    stepped = run.compile(optimizer.step, dynamic=True if run.remedied else None)
    for _ in range(4):
        stepped()
        scheduler.step()


@case(
    "", "why-recompile",
    cause="args[0] dies",
    advice="args[0] (SGD, of tests/answers/optimizers.py",
    counts=(2, 1),
    never=("val dies",),
    function="profile_hook_step",
)  # fmt: skip
def optimizer_of_each_fold(run: Run) -> None:
    optimizer: Any = None

    @run.compile
    def updated() -> None:
        optimizer.step()

    weights = nn.Parameter(ones(3))
    for fold in range(2):
        if fold == 0 or not run.remedied:
            optimizer = torch.optim.SGD([weights], lr=0.1)
        weights.grad = ones(3)
        updated()


@case(
    "", "why-recompile",
    cause="list(averages)[0].grad dies",
    advice="keep the one that there is, which backward() adds to: zero_grad(set_to_none=False)",
    counts=(2, 1),
)  # fmt: skip
def gradient_set_anew(run: Run) -> None:
    weight = nn.Parameter(ones(3))
    averages = {weight: torch.zeros(3)}

    @run.compile
    def averaged() -> None:
        for of, average in averages.items():
            average.lerp_(of.grad, 0.1)  # cause

    weight.grad = ones(3)
    for _ in range(2):
        averaged()
        if run.remedied:
            weight.grad.copy_(ones(3))
        else:
            weight.grad = None
            weight.grad = ones(3)


@case(
    "", "why-break",
    cause="torch.compiler.disable",
    advice="torch itself disables it",
    counts=(0, 1),
    never=("remove torch.compiler.disable",),
)  # fmt: skip
def step_with_a_closure(run: Run) -> None:
    weights = ones(3, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=1)

    def loss() -> Any:
        return (weights * 2).sum()

    counted = run.compile(loss) if run.remedied else loss

    def closure() -> Any:
        optimizer.zero_grad()
        found = counted()
        found.backward()
        return found

    def stepped() -> Any:
        return optimizer.step(closure)  # cause

    (stepped if run.remedied else run.compile(stepped))()


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
    "", "is-guarded", expression="optimizer.param_groups[0]['lr']",
    cause=(
        "if its self is optimizer, optimizer.param_groups[0]['lr'] is guarded",
        "guards self.param_groups[0]['lr']",
    ),
    counts=(2, 1),
)  # fmt: skip
def rate_behind_a_break(run: Run) -> None:
    """The step is compiled by itself, behind a graph break of torch's own."""
    weight = nn.Parameter(ones(2))
    weight.grad = ones(2)
    optimizer = torch.optim.Adagrad([weight], lr=0.1)

    @run.compile
    def stepping() -> None:
        optimizer.step()

    stepping()
    optimizer.param_groups[0]["lr"] = 0.1 if run.remedied else 0.5
    stepping()
