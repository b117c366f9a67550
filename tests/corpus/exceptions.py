"""Exceptions raised and caught inside the compiled function, with else and finally."""

import torch


class TooSmall(ValueError):
    pass


def check(x, n):
    if n < 2:
        raise TooSmall(f"{n} is too small")
    return x * n


@torch.compile(backend="eager")
def f(x, n):
    steps = []
    try:
        x = check(x, n)
    except TooSmall as error:
        steps.append(str(error))
        x = x - 1
    else:
        steps.append("fine")
    finally:
        x = x + 10
    return x, steps


torch.manual_seed(0)
x = torch.randn(3)
print(f(x, 1), f(x, 2), f(x, 3))
