"""Transformed code on real values.

    stepper console --execute -b execute:scaled demos/execution.py

`print` breaks the graph, so the transformed code of `scaled` calls a graph, then `print`, then a
resume function, which is compiled and run inside of it.
"""

import torch


@torch.compile(backend="eager")
def scaled(x: torch.Tensor, factors: list[torch.Tensor]) -> torch.Tensor:
    y = torch.relu(x) + 2
    print("between two graphs")
    return y * factors[0]


x = torch.ones(3)
print(scaled(x, [x]).tolist())
