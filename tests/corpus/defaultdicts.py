"""A defaultdict and an OrderedDict collect tensors by key."""

from collections import OrderedDict, defaultdict

import torch


@torch.compile(backend="eager")
def f(xs):
    groups = defaultdict(list)
    for index, x in enumerate(xs):
        groups[index % 2].append(x)
    ordered = OrderedDict((key, sum(group)) for key, group in groups.items())
    ordered.move_to_end(0)
    return ordered


torch.manual_seed(0)
print(f([torch.randn(2) for _ in range(4)]))
