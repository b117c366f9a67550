"""A program on the CPU, where CUDA could be used: it stays untouched."""

import torch


@torch.compile(backend="eager")
def double(x):
    return x * 2


for size in (2, 3, 4):
    print(double(torch.ones(size)).sum().item())
print("CUDA in use:", torch.cuda.is_initialized())
