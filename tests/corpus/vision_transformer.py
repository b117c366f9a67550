"""A vision transformer as in timm: patches, class token, fused attention, drop path."""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, dim, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim)
        self.norm = nn.LayerNorm(dim // heads)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        batch, tokens, dim = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, dim // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        q, k = self.norm(q), self.norm(k)
        if self.fused:
            x = F.scaled_dot_product_attention(q, k, v)
        else:
            x = ((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1) @ v
        return self.proj(x.transpose(1, 2).reshape(batch, tokens, dim))


class DropPath(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if self.rate == 0.0 or not self.training:
            return x
        keep = 1 - self.rate
        return x * x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep).div_(keep)


class Block(nn.Module):
    def __init__(self, dim, rate, fused):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = Attention(dim, 2, fused)
        self.gamma = nn.Parameter(torch.full((dim,), 0.1))
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.drop_path = DropPath(rate)

    def forward(self, x):
        x = x + self.drop_path(self.attention(self.norm1(x)) * self.gamma)
        return x + self.drop_path(self.mlp(self.norm2(x)) * self.gamma)


class VisionTransformer(nn.Module):
    def __init__(self, dim=16, depth=2, patch=8, size=32):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.position = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, dim))
        rates = [x.item() for x in torch.linspace(0, 0.1, depth)]
        self.blocks = nn.Sequential(*(Block(dim, r, bool(i % 2)) for i, r in enumerate(rates)))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


torch.manual_seed(0)
model = VisionTransformer()
compiled = torch.compile(model, backend="eager")
images = torch.randn(2, 3, 32, 32)
compiled(images).sum().backward()
print(round(model.cls.grad.abs().sum().item(), 3))
with torch.no_grad():
    print([round(v, 4) for v in compiled.eval()(images)[0, :3].tolist()])
