"""Attributes of tensors, whose nodes torch makes only when they are needed."""

import torch


@torch.compile(backend="eager")
def f(x, z, w):
    turned = x @ x.T + x.mT.sum()
    parts = z.real + z.imag + z.H.real.T
    facts = x.ndim + x.itemsize + x.nbytes + x.numel() + len(x.shape)
    flags = [x.is_leaf, x.requires_grad, x.is_cuda, x.is_sparse, x.is_quantized, x.layout]
    detached = w.data * 3 if w.grad is None else w.grad + w.data
    unused = x.T
    return turned, parts, facts, flags, detached, x.T.device, unused.dtype, x.grad_fn


z = torch.complex(torch.ones(2, 2), torch.arange(4.0).reshape(2, 2))
w = torch.ones(3, requires_grad=True)
print(f(torch.ones(2, 3), z, w))
w.sum().backward()
print(f(torch.ones(2, 3), z, w))
