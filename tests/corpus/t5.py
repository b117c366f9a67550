"""T5 of transformers: encoder and decoder of two layers, random weights, with a loss."""

import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(
    num_layers=2,
    num_heads=2,
    d_model=16,
    d_ff=32,
    d_kv=8,
    vocab_size=32,
    decoder_start_token_id=0,
)
model = torch.compile(T5ForConditionalGeneration(config).eval(), backend="eager")
with torch.no_grad():
    out = model(input_ids=torch.arange(6).unsqueeze(0), labels=torch.arange(4).unsqueeze(0))
print(tuple(out.logits.shape), out.loss.item())
