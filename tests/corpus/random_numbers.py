"""Random numbers from torch and from random: the state after the call is eager's."""

import random

import torch


@torch.compile(backend="eager")
def f(x):
    y = x + torch.rand(2) + torch.randn_like(x)
    return y * random.random() + random.randint(1, 5)


torch.manual_seed(0)
random.seed(0)
print(f(torch.zeros(2)), f(torch.zeros(2)))
print(torch.rand(1), random.random())
