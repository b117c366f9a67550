"""Operations in place on an argument, with out=, and on a slice of it."""

import torch


@torch.compile(backend="eager")
def f(x, out):
    x.add_(1)
    x[0] = 5
    x[1:].mul_(2)
    torch.sin(x, out=out)
    return x


torch.manual_seed(0)
x, out = torch.randn(4), torch.empty(4)
y = f(x, out)
print(y is x, x, out)
