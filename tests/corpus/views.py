"""Views of one storage: a write to one is seen in the others; aliased arguments."""

import torch


@torch.compile(backend="eager")
def f(x):
    flat = x.view(-1)
    t = x.t()
    flat[0] = 7
    return t.contiguous(), x.narrow(0, 0, 1), flat.unfold(0, 2, 2)


@torch.compile(backend="eager")
def add(a, b):
    a.add_(b)
    return a + b


torch.manual_seed(0)
x = torch.randn(2, 3)
print(f(x), x)
print(add(x, x), add(x, x.clone()))
