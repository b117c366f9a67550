"""Values that are passed around and never looked at: no guard is made for them, so any will do."""

import torch


def pick(first, _second, *_rest):
    return first


@torch.compile(backend="eager")
def f(x, unused, table):
    pair = (pick(x, unused), table)
    alias = pair[1]
    return pick(pair[0], alias, [alias, unused]) + 1


for unused in (1, "two", [3.0], torch.ones(4)):
    print(f(torch.ones(2), unused, {"key": unused}))
print(torch._dynamo.utils.counters["stats"]["unique_graphs"])
