"""How much of the device's memory a program needs, and what is freed when."""

import gc
import weakref

import torch


@torch.compile
def loss_of(x, w):
    return torch.tanh(x @ w).square().sum()


def train(steps):
    w = torch.randn(512, 512, device="cuda", requires_grad=True)
    for _ in range(steps):
        x = torch.randn(256, 512, device="cuda")
        loss_of(x, w).backward()
        w.grad = None
    return weakref.ref(x), weakref.ref(w)


references = train(4)
gc.collect()
print([reference() is None for reference in references])
print("peak", torch.cuda.max_memory_allocated())
print("held", torch.cuda.memory_allocated())
