"""torch.func transforms: vmap and grad of a function, nested."""

import torch
from torch.func import grad, vmap


def loss(w, x):
    return (w * x).sin().sum()


@torch.compile(backend="eager")
def f(w, xs):
    return vmap(grad(loss), in_dims=(None, 0))(w, xs)


torch.manual_seed(0)
print(f(torch.randn(3), torch.randn(2, 3)))
