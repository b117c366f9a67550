"""Parameters used directly, tied, frozen between calls, and replaced."""

import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.same = self.weight

    def forward(self, x):
        return x @ self.weight + x @ self.same.t()


torch.manual_seed(0)
tied = Tied()
compiled = torch.compile(tied, backend="eager")
x = torch.randn(2, 3)
print(compiled(x).sum().item())
tied.weight.requires_grad_(False)
print(compiled(x).requires_grad)
tied.weight = nn.Parameter(torch.ones(3, 3))
print(compiled(x).sum().item())
