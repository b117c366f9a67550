"""Objects that count each call of their special methods: watching must not add one."""

import collections

import torch

counts = collections.Counter()


class Hostile:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        counts["repr"] += 1
        return "hostile"

    def __str__(self):
        counts["str"] += 1
        return "hostile"

    def __eq__(self, other):
        counts["eq"] += 1
        return self is other

    def __hash__(self):
        counts["hash"] += 1
        return 7

    def __bool__(self):
        counts["bool"] += 1
        return True

    def __getattr__(self, name):
        counts["getattr " + name] += 1
        raise AttributeError(name)

    @property
    def prop(self):
        counts["prop"] += 1
        return self.value


@torch.compile(backend="eager")
def f(x, thing, table):
    y = x * thing.value + thing.prop
    torch._dynamo.graph_break()
    if thing:
        y = y + len(table)
    return y, thing


thing = Hostile(3)
table = {thing: 1, "plain": Hostile(4)}
counts.clear()
y, same = f(torch.ones(2), thing, table)
y, same = f(torch.ones(3), thing, table)
print(y, same is thing)
print(sorted(counts.items()))
