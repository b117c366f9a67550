"""More values of a constant than the cache may hold: the function is given up."""

import torch

torch._dynamo.config.recompile_limit = 3


@torch.compile(backend="eager")
def f(x, name):
    return x + len(name)


for name in ("a", "bb", "ccc", "dddd", "eeeee", "a"):
    print(name, f(torch.ones(1), name).item())
