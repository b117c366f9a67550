"""A buffer is updated in place and by assignment; BatchNorm keeps its running mean."""

import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        self.seen += 1
        self.last = x.mean(0)
        return self.norm(x) * self.seen


torch.manual_seed(0)
counter = Counter()
compiled = torch.compile(counter, backend="eager")
for _ in range(3):
    compiled(torch.randn(4, 3))
print(counter.seen, counter.last, counter.norm.running_mean)
