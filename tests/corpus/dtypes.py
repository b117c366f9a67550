"""Conversions: to(dtype), type promotion, finfo, default dtype, device arguments."""

import torch


@torch.compile(backend="eager")
def f(x, y):
    low = x.to(torch.bfloat16)
    mixed = low + y
    if mixed.dtype.is_floating_point and torch.finfo(mixed.dtype).bits == 16:
        mixed = mixed.float()
    return mixed, x.long(), y.type_as(x), x.to("cpu", dtype=torch.get_default_dtype())


torch.manual_seed(0)
print(f(torch.randn(2), torch.arange(2)))
print(f(torch.randn(2).double(), torch.arange(2).bool()))
