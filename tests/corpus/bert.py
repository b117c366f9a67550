"""BERT of transformers: two layers, random weights, with a padding mask."""

import torch
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(0)
config = BertConfig(
    num_hidden_layers=2,
    num_attention_heads=2,
    hidden_size=16,
    intermediate_size=32,
    max_position_embeddings=32,
    vocab_size=32,
)
model = torch.compile(BertForMaskedLM(config).eval(), backend="eager")
mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
with torch.no_grad():
    logits = model(torch.arange(6).unsqueeze(0), attention_mask=mask).logits
print(tuple(logits.shape), logits.sum().item())
