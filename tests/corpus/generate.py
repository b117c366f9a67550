"""A greedy generate() loop: the sequence grows, its length becomes dynamic."""

import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 16)

    def forward(self, tokens):
        x = self.embed(tokens)
        length = tokens.shape[1]
        mask = torch.full((length, length), float("-inf")).triu(1)
        mixed, _ = self.attention(x, x, x, attn_mask=mask, need_weights=False)
        return self.head(x + mixed)[:, -1].argmax(-1, keepdim=True)


torch.manual_seed(0)
decoder = torch.compile(Decoder().train(), backend="eager")
tokens = torch.tensor([[1, 2, 3]])
with torch.no_grad():
    for _ in range(5):
        tokens = torch.cat([tokens, decoder(tokens)], dim=1)
print(tokens.tolist())
