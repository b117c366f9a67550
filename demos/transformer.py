"""GPT-2 from `transformers`, small and with random weights: a translation of real size.

What to look for in stepper:

* The timeline: one frame, thousands of instructions, with each block's inlined calls as a span.
* `finish` leaves an inlined module; `until` goes to a line; a percentage jumps through the whole
  walk.
* Guards: almost all are on the module tree (``L['self'].transformer.h[0]…``). Filter by source.
* Pick a node in the graph and go to the moment that made it: the line inside `transformers` and
  the whole stack of inlined calls above it.
"""

import sys

import torch

try:
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError:
    sys.exit("This demo needs the package transformers: pip install transformers")


def main() -> None:
    torch.manual_seed(0)
    config = GPT2Config(
        n_layer=2,
        n_head=2,
        n_embd=32,
        n_positions=32,
        vocab_size=64,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config).eval()
    compiled = torch.compile(model, backend="eager")
    tokens = torch.arange(8).unsqueeze(0)
    with torch.no_grad():
        logits = compiled(tokens, use_cache=False).logits
    print("logits", tuple(logits.shape), f"mean {logits.mean().item():.5f}")


if __name__ == "__main__":
    main()
