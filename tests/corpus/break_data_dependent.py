"""A branch on the value of a tensor: two resume functions, both reached."""

import torch


@torch.compile(backend="eager")
def f(x):
    y = x + 1
    if y.sum() > 0:
        y = y * 2
    return y - 1


print(f(torch.ones(2)), f(-torch.ones(2) * 3), f(torch.ones(2)))
