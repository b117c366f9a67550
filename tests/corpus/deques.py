"""A deque with a length limit drops its oldest tensor."""

from collections import deque

import torch


@torch.compile(backend="eager")
def f(history, x):
    history.append(x)
    history.appendleft(x * 2)
    return sum(history)


torch.manual_seed(0)
history = deque([torch.ones(2), torch.zeros(2)], maxlen=3)
print(f(history, torch.randn(2)), len(history), history[0])
