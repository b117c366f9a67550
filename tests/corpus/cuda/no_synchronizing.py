"""Compiled calls in a program that lets nothing wait for the device."""

import torch


@torch.compile
def step(x, scale):
    return (x * scale).relu().sum(0)


@torch.compile(backend="eager")
def late(x):
    return x.tanh() + 1


xs = [torch.ones(size, 8, device="cuda") for size in (4, 4, 6, 8)]
scale = torch.tensor(2.0, device="cuda")
for x in xs:
    step(x, scale)
torch.cuda.synchronize()
torch.cuda.set_sync_debug_mode("error")
outs = [step(x, scale) for x in xs] + [late(x) for x in xs]
torch.cuda.set_sync_debug_mode("default")
print([out.sum().item() for out in outs])
