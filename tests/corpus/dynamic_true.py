"""dynamic=True: sizes and an int argument are symbols from the first call on."""

import torch


@torch.compile(backend="eager", dynamic=True)
def f(x, n):
    if x.shape[0] % 2 == 0:
        return torch.arange(n) * x.shape[1]
    return x.expand(n, *x.shape).sum(0)


for rows, n in ((2, 3), (4, 5), (3, 2)):
    print(f(torch.ones(rows, 3), n).tolist())
