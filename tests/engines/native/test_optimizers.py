"""Optimizers: their steps give eager's parameters and state, and are captured where nothing is
chosen by what is in a tensor."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from stepper import native
from tests.engines.native.harness import same

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
