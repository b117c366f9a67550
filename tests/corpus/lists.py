"""A list argument is indexed, appended to, sliced, reversed and returned."""

import torch


@torch.compile(backend="eager")
def f(xs):
    xs.append(xs[0] + xs[-1])
    tail = xs[1:]
    tail.reverse()
    return sum(tail), tail, len(xs)


torch.manual_seed(0)
xs = [torch.randn(3), torch.randn(3)]
total, tail, length = f(xs)
print(total, [t.sum().item() for t in tail], length, len(xs))
