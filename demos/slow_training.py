"""Compiling that takes long for three reasons at once, none of them in the model.

stepper record -o training.stepper demos/slow_training.py
stepper why-slow training.stepper
stepper why-slow --replay training.stepper
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor

LAYERS, STEPS = (int(word) for word in sys.argv[1:] or ("24", "400"))


def decay(steps: int) -> float:
    """Plain Python, which Dynamo interprets instruction by instruction."""
    rate = 1.0
    for step in range(steps):
        rate = rate * 0.9999 + step * 1e-9
    return rate


def layer(x: Tensor, weight: Tensor) -> Tensor:
    """Is inlined for each weight."""
    return torch.nn.functional.gelu(x @ weight) + x


@torch.compile(backend="aot_eager")
def forward(x: Tensor, weights: list[Tensor]) -> Tensor:
    """The table is made for each layer, and the break comes last."""
    for weight in weights:
        x = layer(x, weight) * decay(STEPS)
    print("forward is done")
    return x.sum()


if __name__ == "__main__":
    weights = [torch.full((4, 4), 0.1, requires_grad=True) for _ in range(LAYERS)]
    for rows in (2, 3, 4):
        x = torch.ones(rows, 4)
        loss = forward(x, weights)
        loss.backward()
        print(f"{loss.item():.4f}")
