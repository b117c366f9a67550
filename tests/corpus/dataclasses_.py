"""A dataclass is read, mutated, and made inside the compiled function."""

from dataclasses import dataclass, field

import torch


@dataclass
class State:
    x: torch.Tensor
    scale: float = 2.0
    log: list = field(default_factory=list)


@torch.compile(backend="eager")
def f(state):
    state.log.append("seen")
    state.x = state.x * state.scale
    return State(state.x + 1, scale=state.scale + 1)


torch.manual_seed(0)
state = State(torch.randn(3))
out = f(state)
print(state.x, state.log, out.x, out.scale, out.log)
