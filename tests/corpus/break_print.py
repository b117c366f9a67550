"""print of a tensor's shape and of a constant."""

import torch


@torch.compile(backend="eager")
def f(x):
    y = x.relu()
    print("shape", tuple(y.shape))
    z = y + 1
    print("done")
    return z


torch.manual_seed(0)
print(f(torch.randn(3)))
