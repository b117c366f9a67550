"""A break in a for loop and in a while loop: the frames are given up."""

import torch


@torch.compile(backend="eager")
def f(x):
    for step in range(3):
        x = x + step
        torch._dynamo.graph_break()
    return x


@torch.compile(backend="eager")
def g(x):
    while x.sum() < 10:
        x = x * 2
    return x


print(f(torch.ones(2)), g(torch.ones(2)))
