"""The same function for another dtype, rank, constant, type and global."""

import torch

factor = 2


@torch.compile(backend="eager")
def f(x, mode, extra=None):
    y = x * factor
    if extra is not None:
        y = y + len(extra)
    return y.sin() if mode == "sin" else y


print(f(torch.ones(2), "sin"))
print(f(torch.ones(2, dtype=torch.float64), "sin"))
print(f(torch.ones(2, 2), "cos"))
print(f(torch.ones(2), "sin", [1]), f(torch.ones(2), "sin", (1, 2)))
factor = 3
print(f(torch.ones(2), "sin"))
