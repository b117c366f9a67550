"""A tensor subclass with __torch_function__, and a torch function mode around a call."""

import torch
from torch.overrides import TorchFunctionMode


class Scaled(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        out = super().__torch_function__(func, types, args, kwargs or {})
        return out * 2 if func is torch.sin else out


class AddOne(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out + 1 if func is torch.cos else out


@torch.compile(backend="eager")
def f(x):
    return torch.sin(x) + torch.cos(x)


torch.manual_seed(0)
x = torch.randn(2)
print(f(x), f(x.as_subclass(Scaled)).tolist())
with AddOne():
    print(f(x))
