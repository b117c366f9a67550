"""A matrix that the device has no memory for, in compiled code."""

import torch


@torch.compile(backend="eager")
def outer(x):
    small = x * 2
    return small[:, None] @ small[None, :]


outer(torch.ones(16, device="cuda"))
outer(torch.ones(1_000_000, device="cuda"))
