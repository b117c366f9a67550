"""Activation checkpointing: a higher order operator around an inlined module."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def block(self, x):
        return self.linear(x).relu()

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False).sum()


torch.manual_seed(0)
net = Net()
torch.compile(net, backend="eager")(torch.randn(2, 3)).backward()
print(net.linear.weight.grad)
