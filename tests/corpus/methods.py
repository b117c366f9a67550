"""torch.compile of a bound method, of a method in a class body, and Module.compile()."""

import torch
from torch import nn


class Runner(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    @torch.compile(backend="eager")
    def step(self, x):
        return x * self.factor

    def other(self, x):
        return x - self.factor

    def forward(self, x):
        return self.other(x) * 2


x = torch.ones(2)
one, two = Runner(2), Runner(3)
print(one.step(x), two.step(x))
print(torch.compile(one.other, backend="eager")(x))
two.compile(backend="eager")
print(two(x))
