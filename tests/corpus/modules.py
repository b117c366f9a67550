"""A module of modules, compiled as a whole, in training and in eval mode."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.0))
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 3)})
        self.blocks = nn.ModuleList(nn.LayerNorm(8) for _ in range(2))

    def forward(self, x):
        x = self.layers(x)
        for block in self.blocks:
            x = block(x)
        if self.training:
            x = x + 1
        return {name: head(x) for name, head in self.heads.items()}


torch.manual_seed(0)
net = torch.compile(Net(), backend="eager")
x = torch.randn(2, 4)
for mode in (True, False):
    net.train(mode)
    print({name: out.sum().item() for name, out in net(x).items()})
