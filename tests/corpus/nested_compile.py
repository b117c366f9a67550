"""A compiled function calls another compiled function, inlined and after a break."""

import torch


@torch.compile(backend="eager")
def inner(x):
    return x.sin() + 1


@torch.compile(backend="eager")
def outer(x):
    y = inner(x) * 2
    torch._dynamo.graph_break()
    return inner(y)


torch.manual_seed(0)
x = torch.randn(2)
print(outer(x), inner(x))
