"""A mask that was left on the CPU."""

import torch


class Masked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.mask = torch.tril(torch.ones(8, 8))  # no buffer: .cuda() does not move it

    def forward(self, x):
        h = self.linear(x)
        return h @ self.mask


torch.compile(Masked().cuda(), backend="eager")(torch.ones(2, 8, device="cuda"))
