"""Inputs on another device, of another dtype, and on the device again."""

import torch


@torch.compile(backend="eager")
def scale(x, factor):
    return x.relu() * factor


x = torch.ones(4, device="cuda")
print(scale(x, 2.0).sum().item())
print(scale(x.cpu(), 2.0).sum().item())
print(scale(x.half(), 2.0).sum().item())
print(scale(x, 2.0).device)
