"""Nested functions share a variable and write to it."""

import torch


@torch.compile(backend="eager")
def f(x):
    count = 0
    last = x

    def step(y):
        nonlocal count, last
        count += 1
        last = y + count
        return last

    step(x)
    step(last)
    return last, count


torch.manual_seed(0)
print(f(torch.randn(3)))
