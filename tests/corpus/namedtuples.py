"""A namedtuple goes in and another comes out."""

from collections import namedtuple

import torch

Point = namedtuple("Point", ["x", "y"])


@torch.compile(backend="eager")
def f(p):
    moved = p._replace(x=p.x + 1)
    return Point(moved.y, moved.x), p._fields


torch.manual_seed(0)
print(f(Point(torch.randn(2), torch.randn(2))))
