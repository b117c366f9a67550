"""Optimizers: their steps give eager's parameters and state, and are captured where nothing is
chosen by what is in a tensor."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from stepper import native
from tests.engines.native.harness import check, same

pytestmark = pytest.mark.evaluator_out

WHOLE: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Adadelta": {},
    "Rprop": {},
    "Adam": {"amsgrad": True},
    "AdamW": {"foreach": True},
    "Adamax": {},
    "NAdam": {},
    "Adagrad": {},
}
"""Those whose step is one graph, with options."""
IN_PARTS = ("RAdam", "ASGD")
"""Those that choose by the number of steps, which they count in tensors."""
STEPS = 4


def _trained(name: str, graphs: list[Any] | None) -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = getattr(torch.optim, name)(model.parameters(), **WHOLE.get(name, {}))
    data, target = torch.randn(16, 4), torch.randn(16, 1)

    def backend(gm: Any, inputs: list[Any]) -> Any:
        assert graphs is not None
        graphs.append(gm)
        return gm.forward

    def step() -> None:
        optimizer.step()

    captured: Any = step if graphs is None else native.optimize(backend)(step)
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(data), target).backward()
        captured()
    states = [list(state.values()) for state in optimizer.state.values()]
    return [each.detach() for each in model.parameters()], states


@pytest.mark.parametrize("name", [*WHOLE, *IN_PARTS])
def test_a_step_gives_eager_s_parameters_and_state(name: str) -> None:
    graphs: list[Any] = []
    assert same(_trained(name, None), _trained(name, graphs))
    assert len(graphs) in ((1, 2) if name in WHOLE else (0, 1))  # the first step makes the state


def test_a_step_that_a_scheduler_wraps_is_captured_behind_a_break() -> None:
    graphs: list[Any] = []

    def trained(compiled: bool) -> list[Any]:
        torch.manual_seed(0)
        model = nn.Linear(2, 1)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

        def step(x: torch.Tensor) -> torch.Tensor:
            loss = model(x).pow(2).sum()
            loss.backward()  # breaks the graph; the None that it gives is let go behind it
            optimizer.step()
            optimizer.zero_grad()
            return loss.detach()

        def backend(gm: Any, inputs: list[Any]) -> Any:
            graphs.append(len(gm.graph.nodes))
            return gm.forward

        run = native.optimize(backend)(step) if compiled else step
        losses = []
        for x in torch.ones(3, 4, 2).unbind():
            losses.append(run(x))
            scheduler.step()
        return [*losses, *model.parameters()]

    assert same(trained(compiled=False), trained(compiled=True))
    assert max(graphs) > 20, graphs


@pytest.mark.parametrize("norm", [1.0, 1e9])
def test_gradients_are_clipped_in_one_graph(norm: float) -> None:
    def clip(x: torch.Tensor, weights: list[torch.Tensor]) -> Any:
        for weight in weights:
            weight.grad = weight.detach() * 3
        total = nn.utils.clip_grad_norm_(weights, norm)
        nn.utils.clip_grad_value_(weights, 0.5)
        return x + total, [weight.grad for weight in weights]

    weights = [nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.ones(3))]
    explanation = check(clip, torch.ones(1), weights)
    assert not explanation.breaks, str(explanation)


def test_gradients_of_two_kinds_are_clipped_as_python_clips_them() -> None:
    def clip(x: torch.Tensor, weights: list[torch.Tensor]) -> Any:
        return x + nn.utils.clip_grad_norm_(weights, 1.0), [weight.grad for weight in weights]

    weights = [nn.Parameter(torch.ones(2, dtype=kind)) for kind in (torch.float32, torch.float64)]
    for weight in weights:
        weight.grad = weight.detach() * 3
    check(clip, torch.ones(1), weights)
