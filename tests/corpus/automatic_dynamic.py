"""The second size of a dimension makes it dynamic; 0 and 1 stay special."""

import torch


@torch.compile(backend="eager")
def f(x):
    return x.reshape(-1, 2).sum(0) * x.shape[0]


for size in (4, 6, 8, 2, 10):
    print(size, f(torch.ones(size, 2)).tolist())
print(f(torch.ones(1, 2)).tolist())
