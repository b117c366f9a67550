"""A function reads a variable of the function around it, compiled for two values of it."""

import torch


def make(scale):
    def inner(x):
        return x * scale + offset

    offset = scale + 1
    return torch.compile(inner, backend="eager")


torch.manual_seed(0)
x = torch.randn(3)
print(make(2)(x), make(3)(x))
