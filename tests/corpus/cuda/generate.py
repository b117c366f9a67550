"""A small language model that generates with a static cache, compiled with CUDA graphs."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
)  # fmt: skip
model = LlamaForCausalLM(config).cuda().eval()
model.generation_config.cache_implementation = "static"
ids = torch.randint(3, 128, (2, 8), device="cuda")
with torch.no_grad():
    out = model.generate(ids, max_new_tokens=12, do_sample=False, pad_token_id=0)
print(tuple(out.shape), int(out.sum()))
