"""*args and **kwargs, defaults and keyword-only parameters, passed on."""

import torch


def total(*args, **kwargs):
    return sum(args) + sum(kwargs.values())


@torch.compile(backend="eager")
def f(first, /, *rest, scale=2, **named):
    return total(first, *rest, **named) * scale


a, b = torch.ones(2), torch.full((2,), 3.0)
print(f(a), f(a, b), f(a, b, extra=b), f(a, scale=5, other=a))
