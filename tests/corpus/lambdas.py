"""Lambdas made, passed, stored and called; functools.partial with keywords."""

import functools

import torch


def scale(x, factor, offset=0):
    return x * factor + offset


@torch.compile(backend="eager")
def f(x, g):
    h = lambda y, n=2: y**n
    steps = [g, h, functools.partial(scale, factor=3, offset=1)]
    return functools.reduce(lambda value, step: step(value), steps, x)


torch.manual_seed(0)
x = torch.randn(3)
print(f(x, lambda y: y + 1))
print(f(x, functools.partial(scale, factor=2)))
