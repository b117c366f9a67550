"""Models of transformers and other nets, with sizes that vary, and what later stages decide."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

from tests.shapes.cases import ones, program

SMALL = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16}
WORDS = {"vocab_size": 32, "intermediate_size": 32, "max_position_embeddings": 32}


def words(*sizes: int) -> Tensor:
    return torch.ones(sizes, dtype=torch.long)


def model(name: str, **sizes: Any) -> Any:
    """One of transformers, with random weights."""
    config = getattr(transformers, f"{name.removesuffix('Model')}Config")(**sizes)
    return getattr(transformers, name)(config).eval()


TWO_LENGTHS = ((words(2, 5),), (words(3, 7),))


GPT2 = model("GPT2Model", n_layer=1, n_head=2, n_embd=16, vocab_size=32, n_positions=32)


@program(*TWO_LENGTHS)
def gpt2(x: Tensor) -> Tensor:
    return GPT2(x).last_hidden_state


LLAMA = model("LlamaModel", **SMALL, **WORDS, num_key_value_heads=1)


@program(*TWO_LENGTHS)
def llama(x: Tensor) -> Tensor:
    return LLAMA(x).last_hidden_state


BERT = model("BertModel", **SMALL, **WORDS)


@program(*TWO_LENGTHS)
def bert(x: Tensor) -> Tensor:
    return BERT(x).last_hidden_state


@program((words(2, 5), words(2, 5)), (words(3, 7), words(3, 7)))
def bert_with_a_mask(x: Tensor, mask: Tensor) -> Tensor:
    return BERT(x, attention_mask=mask).last_hidden_state


T5 = model("T5Model", d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, vocab_size=32)


@program((words(2, 5), words(2, 3)), (words(3, 7), words(3, 4)))
def t5(x: Tensor, y: Tensor) -> Tensor:
    return T5(input_ids=x, decoder_input_ids=y).last_hidden_state


MISTRAL = model("MistralModel", **SMALL, **WORDS, num_key_value_heads=1, sliding_window=4)


@program(*TWO_LENGTHS)
def mistral(x: Tensor) -> Tensor:
    return MISTRAL(x).last_hidden_state


QWEN = model("Qwen2Model", **SMALL, **WORDS, num_key_value_heads=1)


@program(*TWO_LENGTHS, dynamic=None)
def qwen_by_itself(x: Tensor) -> Tensor:
    return QWEN(x).last_hidden_state


VIT = model("ViTModel", **SMALL, intermediate_size=32, image_size=16, patch_size=8)


@program((ones(2, 3, 16, 16),), (ones(3, 3, 16, 16),))
def vision_transformer(x: Tensor) -> Tensor:
    return VIT(x).last_hidden_state


class Pooled(nn.Module):
    """Convolutions, and a pooling that asks what the size divides by."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(2)
        )
        self.head = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(x).flatten(1))


@program((ones(2, 3, 16, 16),), (ones(3, 3, 20, 20),))
def pooled(x: Tensor) -> Tensor:
    return POOLED(x)


POOLED = Pooled().eval()


@program((ones(1, 3, 8, 8),), (ones(1, 3, 10, 12),))
def interpolated(x: Tensor) -> Tensor:
    return F.interpolate(x, scale_factor=2.0, mode="bilinear")


@program((ones(1, 3, 8, 8),), (ones(1, 3, 10, 12),))
def grown_to_a_size(x: Tensor) -> Tensor:
    return F.interpolate(x[..., 1:], size=x.shape[-2:])


@program((ones(2, 5, 8),), (ones(3, 7, 8),))
def encoder(x: Tensor) -> Tensor:
    return ENCODER(x)


ENCODER = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()


@program((ones(4, 8),), (ones(6, 8),), backend="aot_eager")
def trained(x: Tensor) -> Tensor:
    return F.linear(x, ones(3, 8).requires_grad_()).relu().mean()


@program((ones(6, 8),), (ones(10, 8),), backend="aot_eager")
def dispatched(x: Tensor) -> Tensor:
    return x.view(2, -1, 8).add_(1).sum(1).expand(2, 8)


@program((ones(2, 3, 14, 14),), (ones(3, 3, 14, 14),), backend="aot_eager")
def pooled_when_decomposed(x: Tensor) -> Tensor:
    return F.adaptive_avg_pool2d(x, (7, 7))


@program((ones(4, 8),), (ones(6, 8),), backend="inductor")
def trained_and_lowered(x: Tensor) -> Tensor:
    return LINEAR(x).relu().view(2, -1).mean()


LINEAR = nn.Linear(8, 4)


@program((ones(2, 6),), (ones(4, 6),), backend="inductor")
def lowered(x: Tensor) -> Tensor:
    return (x.softmax(-1) @ x.T).sum(0)


@program((ones(2, 3, 14, 14),), backend="inductor")
def fixed_by_the_backend(x: Tensor) -> Tensor:
    return torch._adaptive_avg_pool2d(x, (7, 7))


@torch.library.custom_op("tests_shapes::weighed", mutates_args=())
def weighed(x: Tensor, kept: Tensor) -> Tensor:
    """An operator for which Inductor need not compile anything."""
    return x * len(kept)


@weighed.register_fake
def _(x: Tensor, kept: Tensor) -> Tensor:
    return torch.empty_like(x)


class Kept(torch.autograd.Function):
    """Its backward has a size that depends on data, and takes no size of the forward's: so it is
    compiled when gradients are asked for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x @ x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return weighed(gradient, gradient.nonzero())


@program((ones(4, 4).requires_grad_(),), dynamic=None, backend="inductor")
def decided_in_the_backward(x: Tensor) -> Tensor:
    return Kept.apply(x)  # type: ignore[no-any-return,no-untyped-call]  # torch leaves it untyped
