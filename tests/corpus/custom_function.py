"""A custom autograd.Function, with saved tensors and a constant on its context."""

import torch


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return x.clamp(max=limit)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x <= ctx.limit), None


@torch.compile(backend="eager")
def f(x):
    return Clamp.apply(x * 2, 1.0).sum()


torch.manual_seed(0)
x = torch.randn(4, requires_grad=True)
f(x).backward()
print(x.grad)
