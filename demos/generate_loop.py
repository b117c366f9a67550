"""A greedy generate() loop: the sequence grows by one token a call.

What to look for in stepper:

* The first call compiles for the prompt's length. The second one fails that guard, and its
  translation makes the length dynamic. From the third call on, the entry serves: no more
  translations.
* In the second translation, follow the length: a symbol such as ``s27`` appears in the graph
  instead of 4.
* The loop itself is not compiled: only what it calls has frames on the timeline.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Decoder(nn.Module):
    def __init__(self, vocabulary: int = 32, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(vocabulary, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.mix(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        x = x + self.attend(self.norm(x))
        return self.head(x)[:, -1]


@torch.no_grad()
def generate(decoder: nn.Module, tokens: torch.Tensor, steps: int) -> torch.Tensor:
    for _ in range(steps):
        following = decoder(tokens).argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, following], dim=1)
    return tokens


def main() -> None:
    torch.manual_seed(0)
    decoder = torch.compile(Decoder().eval(), backend="eager")
    print(generate(decoder, torch.tensor([[1, 2, 3, 4]]), steps=8).tolist())


if __name__ == "__main__":
    main()
