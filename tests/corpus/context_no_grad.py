"""no_grad, enable_grad and autocast-like state are entered and left while tracing."""

import torch


@torch.compile(backend="eager")
def f(x):
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = x * 3
    return y, z


torch.manual_seed(0)
y, z = f(torch.randn(3, requires_grad=True))
print(y.requires_grad, z.requires_grad, torch.is_grad_enabled())
with torch.no_grad():
    y, z = f(torch.randn(3, requires_grad=True))
    print(y.requires_grad, z.requires_grad, torch.is_grad_enabled())
