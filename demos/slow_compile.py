"""Where compile time goes: a loop that is unrolled, and tracing that is done twice.

stepper record -o slow.stepper demos/slow_compile.py
stepper why-slow slow.stepper
"""

from __future__ import annotations

import torch
from torch import Tensor


def layer(h: Tensor, weight: Tensor) -> Tensor:
    """Is inlined each time."""
    return torch.nn.functional.gelu(h @ weight) + h


@torch.compile(backend="aot_eager")
def forward(x: Tensor, weight: Tensor) -> Tensor:
    """The break comes last, so that everything before it is traced again."""
    for _ in range(20):
        x = layer(x, weight)
    print("forward is done")
    return x.sum()


if __name__ == "__main__":
    weight = torch.ones(4, 4, requires_grad=True)
    forward(torch.ones(2, 4), weight).backward()
