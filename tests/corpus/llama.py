"""LLaMA of transformers: two layers, random weights, grouped-query attention, two lengths."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    hidden_size=16,
    intermediate_size=32,
    max_position_embeddings=32,
    vocab_size=32,
)
model = torch.compile(LlamaForCausalLM(config).eval(), backend="eager")
with torch.no_grad():
    for length in (4, 6):
        logits = model(torch.arange(length).unsqueeze(0)).logits
        print(tuple(logits.shape), logits.sum().item())
