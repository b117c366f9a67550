"""A global that appears, changes type and goes away; a module imported while tracing."""

import torch


def helper(x):
    return x * 2


@torch.compile(backend="eager")
def f(x):
    import math

    if "late" in globals():
        x = x + late  # noqa: F821  # it is there when it runs
    return helper(x) * math.floor(math.pi)


x = torch.ones(2)
print(f(x))
late = 5
print(f(x))
late = torch.ones(2)
print(f(x))


def helper(x):  # noqa: F811  # it is bound anew
    return x * 3


print(f(x))
