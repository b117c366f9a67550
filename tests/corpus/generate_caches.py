"""The generate() of transformers on a small GPT-2, with a dynamic and with a static cache."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=64, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2
)
model = GPT2LMHeadModel(config).eval()
prompt = torch.tensor([[5, 6, 7]])


def generate(implementation):
    torch._dynamo.reset()
    model.forward = torch.compile(type(model).forward.__get__(model), backend="eager")
    options = {}
    if implementation is not None:
        options = {"cache_implementation": implementation, "disable_compile": True}
    tokens = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=4,
        do_sample=False,
        pad_token_id=0,
        **options,
    )
    return tokens.tolist()


print("dynamic", generate(None))
print("static", generate("static"))
