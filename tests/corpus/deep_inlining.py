"""Calls inlined deep, and the frames that each takes of the stack while it is being inlined."""

import sys

import torch
from torch._dynamo.comptime import comptime

depths = []


def measure(_context):
    depth, frame = 0, sys._getframe()
    while frame := frame.f_back:
        depth += 1
    depths.append(depth)


def deep(x, n):
    comptime(measure)
    return x if n == 0 else deep(x + 1, n - 1)


@torch.compile(backend="eager")
def f(x, n):
    return deep(x, n)


print(f(torch.ones(1), 40))
print("frames for each inlined call:", (depths[-1] - depths[0]) / (len(depths) - 1))
