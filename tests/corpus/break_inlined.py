"""A break two inlined calls deep."""

import torch


def inner(x):
    x = x * 2
    torch._dynamo.graph_break()
    return x + 1


def middle(x):
    return inner(x.sin()).cos()


@torch.compile(backend="eager")
def f(x):
    return middle(x) + middle(x + 1)


torch.manual_seed(0)
print(f(torch.randn(2)))
