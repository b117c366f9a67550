"""enumerate, zip, map, filter, reversed, sorted, itertools and a tensor as an iterable."""

import itertools

import torch


@torch.compile(backend="eager")
def f(x, weights):
    out = x[0] * 0
    for i, (row, weight) in enumerate(zip(x, weights)):
        out = out + row * weight * i
    for y in map(torch.sin, filter(lambda r: r.ndim == 1, reversed(list(x)))):
        out = out + y
    for a, b in itertools.product([1, 2], sorted(weights, reverse=True)):
        out = out + a * b
    return out, list(itertools.accumulate(weights)), any(w > 2 for w in weights)


torch.manual_seed(0)
print(f(torch.randn(3, 2), [1, 3, 2]))
