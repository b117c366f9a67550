"""Backward through a compiled function, a gradient with create_graph, a tensor hook."""

import torch


@torch.compile(backend="eager")
def f(x, w):
    return (x @ w).tanh().sum()


torch.manual_seed(0)
x = torch.randn(2, 3, requires_grad=True)
w = torch.randn(3, 2, requires_grad=True)
f(x, w).backward()
print(x.grad, w.grad)
(first,) = torch.autograd.grad(f(x, w), x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x)
print(second)
