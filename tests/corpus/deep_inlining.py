"""Calls inlined almost as deep as the stack allows: one frame more for each would break it."""

import torch


def deep(x, n):
    return x if n == 0 else deep(x + 1, n - 1)


@torch.compile(backend="eager")
def f(x, n):
    return deep(x, n)


print(f(torch.ones(1), 76), torch._dynamo.utils.counters["stats"]["unique_graphs"])
