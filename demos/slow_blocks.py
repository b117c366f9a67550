"""A deep model that takes long to compile: each block anew, and all of it once more.

stepper record -o blocks.stepper demos/slow_blocks.py
stepper why-slow blocks.stepper
stepper why-slow --replay blocks.stepper

`demos/slow_blocks.py LAYERS mended` is the program with what the replay has proven.
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn

LAYERS = int(sys.argv[1]) if len(sys.argv) > 1 else 24
MENDED = "mended" in sys.argv
WIDTH, HEADS = 64, 4


class Block(nn.Module):
    """A transformer's, with norms first."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """Attention, then two layers."""
        heads = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, WIDTH // HEADS))
        q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    """One block after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))

    def forward(self, x: Tensor) -> Tensor:
        """All of them."""
        for block in self.blocks:
            x = block(x)
        return x


if __name__ == "__main__":
    torch.manual_seed(0)
    if MENDED:
        Block.forward = torch.compiler.nested_compile_region(Block.forward)  # type: ignore[method-assign]  # as a decorator
    model = Model().eval()
    compiled = torch.compile(model)
    with torch.no_grad():
        for length in (16, 24, 40):
            x = torch.randn(2, length, WIDTH)
            if MENDED:
                torch._dynamo.mark_dynamic(x, 1)
            print(f"{compiled(x).std().item():.4f}")
