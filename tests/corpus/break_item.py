"""A number leaves the tensor by item(), tolist(), float() and bool()."""

import torch


@torch.compile(backend="eager")
def f(x):
    n = x.max().item()
    y = x / n
    m = float(y.sum())
    return y * m, x.tolist()


print(f(torch.arange(1.0, 4.0)))
