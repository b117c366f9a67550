"""A function that calls itself is inlined to its depth, near the interpreter's own limit too."""

import torch


@torch.compile(backend="eager")
def power(x, n):
    if n == 0:
        return torch.ones_like(x)
    return x * power(x, n - 1)


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


@torch.compile(backend="eager")
def f(x):
    return x + deep(20)


print(power(torch.full((2,), 2.0), 6), f(torch.ones(1)))
