"""aot_eager: the graph goes through AOTAutograd, forward and backward."""

import torch


@torch.compile(backend="aot_eager")
def f(x, w):
    y = x @ w
    y.add_(1)
    return y.relu().sum()


torch.manual_seed(0)
x = torch.randn(2, 3, requires_grad=True)
w = torch.randn(3, 2, requires_grad=True)
f(x, w).backward()
print(x.grad, w.grad)
