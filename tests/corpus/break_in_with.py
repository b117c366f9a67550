"""A break inside no_grad, and inside a context manager of the program's own."""

import torch


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


@torch.compile(backend="eager")
def f(x):
    with torch.no_grad():
        y = x * 2
        torch._dynamo.graph_break()
        z = y + x
    return z


@torch.compile(backend="eager")
def g(x):
    with Quiet():
        y = x * 2
        torch._dynamo.graph_break()
        return y + x


torch.manual_seed(0)
x = torch.randn(2, requires_grad=True)
print(f(x).requires_grad, g(x).requires_grad)
