"""Rearranging as einops does: a pattern string is parsed while tracing."""

import torch


def rearrange(x, pattern, **sizes):
    left, right = (side.split() for side in pattern.split("->"))
    order = [left.index(name) for name in right]
    x = x.permute(order)
    return x.reshape(-1, sizes["last"]) if sizes else x


@torch.compile(backend="eager")
def f(x):
    y = rearrange(x, "b h w c -> b c h w")
    z = rearrange(x, "b h w c -> w h b c", last=3)
    return y, torch.einsum("bchw,nc->bhwn", y, z).sum((1, 2))


torch.manual_seed(0)
y, z = f(torch.randn(2, 2, 2, 3))
print(tuple(y.shape), y.sum().item(), z.sum().item())
