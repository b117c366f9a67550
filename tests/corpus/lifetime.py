"""A class that a guard knows by identity dies, and its cache entry with it; reset() clears all."""

import gc

import torch


def make(factor):
    class Scaler:
        pass

    Scaler.factor = factor
    return Scaler


@torch.compile(backend="eager")
def f(x, scaler):
    return x * scaler.factor


for factor in (2, 3):
    scaler = make(factor)
    print(f(torch.ones(2), scaler), f(torch.ones(2), scaler))
    del scaler
    gc.collect()
torch._dynamo.reset()
print(f(torch.ones(2), make(4)))
