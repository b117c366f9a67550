"""A break under try, in an except block, and in finally."""

import torch


@torch.compile(backend="eager")
def f(x):
    try:
        x = x + 1
        torch._dynamo.graph_break()
        x = x * 2
    finally:
        x = x - 1
    return x


@torch.compile(backend="eager")
def g(x):
    try:
        raise ValueError("no")
    except ValueError:
        torch._dynamo.graph_break()
        x = x + 5
    return x


print(f(torch.ones(2)), g(torch.ones(2)))
