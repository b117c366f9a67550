"""Flash attention in half precision, with the ways of computing it chosen."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

torch.manual_seed(0)


@torch.compile
def attend(q, k, v):
    return scaled_dot_product_attention(q, k, v, is_causal=True).mean()


for length in (64, 64, 80):
    q, k, v = (torch.randn(2, 4, length, 32, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    print(round(attend(q, k, v).item(), 4))
with sdpa_kernel(SDPBackend.MATH):
    print(round(attend(q, k, v).item(), 4))
