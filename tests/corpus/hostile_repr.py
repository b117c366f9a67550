"""A __repr__ that raises, one that prints, and one that never ends: none may be called."""

import itertools

import torch


class Raises:
    scale = 2

    def __repr__(self):
        raise RuntimeError("do not look at me")


class Prints:
    scale = 3

    def __repr__(self):
        print("I was looked at")
        return "Prints()"


class Hangs:
    scale = 4

    def __repr__(self):
        for _ in itertools.count():
            pass


@torch.compile(backend="eager")
def f(x, things):
    for thing in things:
        x = x * thing.scale
    torch._dynamo.graph_break()
    return x + things[0].scale


print(f(torch.ones(2), [Raises(), Prints(), Hangs()]))
