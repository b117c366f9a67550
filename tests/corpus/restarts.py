"""Translations that are restarted: a specialized float, a late graph break, a nested one."""

import torch


def helper(x, flag):
    y = x.cos()
    if flag:
        print("flag")
    return y * 2


@torch.compile(backend="eager")
def f(x, scale, flag):
    y = x * scale
    y = helper(y, flag)
    if y.sum() > 100:
        return y
    return y + scale


print(f(torch.ones(3), 1.5, True))
print(f(torch.ones(3), 2.5, True))
print(f(torch.ones(3), 3.5, False))
