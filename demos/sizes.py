"""Sizes that were to be symbols, and what fixed them.

stepper record -o sizes.stepper demos/sizes.py
stepper why-shape sizes.stepper
"""

from __future__ import annotations

import torch
from torch import Tensor


@torch.compile(backend="eager", dynamic=True)
def in_a_name(x: Tensor) -> Tensor:
    """The name of the bucket needs the number."""
    n = x.shape[0]
    bucket = f"bucket{n}"
    return x * len(bucket) + n


@torch.compile(backend="eager", dynamic=True)
def in_a_branch(x: Tensor) -> Tensor:
    """One entry for each side."""
    return long(x) if x.shape[0] > 10 else x * 2


def long(x: Tensor) -> Tensor:
    """Of more than ten."""
    return x[:10] + x[-10:]


@torch.compile(backend="eager", dynamic=True)
def of_one_size(x: Tensor, y: Tensor) -> Tensor:
    """Both get one symbol, because both have the same size at the first call."""
    return x + y


if __name__ == "__main__":
    for size in (5, 6):
        print("in a name", in_a_name(torch.ones(size)).sum().item())
    for size in (4, 12, 1):
        print("in a branch", in_a_branch(torch.ones(size)).sum().item())
    print("of one size", of_one_size(torch.ones(6), torch.ones(6)).sum().item())
    print("of one size", of_one_size(torch.ones(6), torch.ones(1)).sum().item())
