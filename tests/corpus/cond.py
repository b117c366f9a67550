"""torch.cond: both branches become subgraphs."""

import torch


@torch.compile(backend="eager")
def f(x, bias):
    def positive(x):
        return x.cos() + bias

    def negative(x):
        return x.sin() - bias

    return torch.cond(x.sum() > 0, positive, negative, (x,)) * 2


torch.manual_seed(0)
bias = torch.randn(3)
print(f(torch.ones(3), bias), f(-torch.ones(3), bias))
