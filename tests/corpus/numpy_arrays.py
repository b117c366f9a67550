"""NumPy arrays and functions, traced as tensors, to and from torch."""

import numpy as np
import torch


@torch.compile(backend="eager")
def f(a, x):
    b = np.sin(a) + a.reshape(-1).sum()
    return b.astype(np.float32), torch.from_numpy(b) * x


b, y = f(np.arange(4.0).reshape(2, 2), torch.ones(2, 2))
print(type(b).__name__, b.dtype, b.tolist(), y.tolist())
