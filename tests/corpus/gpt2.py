"""GPT-2 of transformers: two layers, random weights."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    n_layer=2,
    n_head=2,
    n_embd=16,
    n_positions=32,
    vocab_size=32,
    bos_token_id=0,
    eos_token_id=0,
)
model = torch.compile(GPT2LMHeadModel(config).eval(), backend="eager")
with torch.no_grad():
    logits = model(torch.arange(6).unsqueeze(0)).logits
print(tuple(logits.shape), logits.sum().item())
