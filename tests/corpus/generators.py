"""Generators are inlined: consumed whole, in part, delegated to, and as expressions."""

import torch


def powers(x, n):
    y = x
    for _ in range(n):
        yield y
        y = y * x


def both(x):
    yield from powers(x, 2)
    yield x + 1


@torch.compile(backend="eager")
def f(x):
    first = next(powers(x, 3))
    return first + sum(both(x)) + sum(y * 2 for y in powers(x, 2))


torch.manual_seed(0)
print(f(torch.randn(3)))
