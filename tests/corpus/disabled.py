"""Functions that torch.compiler.disable keeps out, recursively and for one frame only."""

import torch


@torch.compiler.disable
def outside(x):
    return inside(x) + 1


@torch.compiler.disable(recursive=False)
def only_this(x):
    return inside(x) - 1


def inside(x):
    return x.sin() * 2


@torch.compile(backend="eager")
def f(x):
    return outside(x) * only_this(x) + torch.compiler.is_compiling()


torch.manual_seed(0)
print(f(torch.randn(2)))
