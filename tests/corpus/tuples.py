"""Tuples are unpacked with a star, compared and concatenated."""

import torch


@torch.compile(backend="eager")
def f(pair, sizes):
    first, *rest = pair
    if sizes + (1,) == (2, 3, 1):
        first = first * 2
    return (first, *rest)[::-1]


torch.manual_seed(0)
print(f((torch.randn(2), torch.randn(2), torch.randn(2)), (2, 3)))
