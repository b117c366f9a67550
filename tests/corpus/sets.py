"""Membership in a set and a frozenset decides what is computed."""

import torch


@torch.compile(backend="eager")
def f(x, names):
    if "sin" in names:
        x = x.sin()
    names.add("done")
    extra = names | frozenset({"more"})
    return x * len(extra)


torch.manual_seed(0)
names = {"sin", "cos"}
print(f(torch.randn(3), names), sorted(names))
print(f(torch.randn(3), {"cos"}))
