"""What is advised on the numbers that an optimizer of torch's has for its parameters."""

from __future__ import annotations

from collections.abc import Callable

from stepper.analysis.recompile_lines import recompile_lines
from tests.analysis.conftest import Recorded

ONE_CYCLE = """
import torch

weight = torch.ones(2, requires_grad=True)
weight.grad = torch.ones(2)
optimizer = torch.optim.Adam([weight], lr=LR)
SCHEDULER
step = torch.compile(optimizer.step, backend="eager")
for _ in range(3):
    step()
    scheduler.step()
"""


def test_the_learning_rate_alone_can_be_a_tensor(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    """A scheduler puts floats in the place of the other numbers (pytorch#133898)."""
    rate = "scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)"
    betas = "scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=9)"
    for scheduler, lr, named, tensor in (
        (rate, "0.1", "['lr']", True),
        (betas, "torch.tensor(0.1)", "['betas'][0]", False),
    ):
        text = program(ONE_CYCLE.replace("LR)", f"{lr})", 1).replace("SCHEDULER", scheduler))
        told = [line.text for line in recompile_lines(recorded(text)) if "advice: " in line.text]
        [advice] = [line for line in told if f"{named} an input of the graph" in line]
        assert "torch.compile(dynamic=True)" in advice
        assert ("keep it in a tensor" in advice) is tensor
