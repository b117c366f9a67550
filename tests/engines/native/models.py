"""Real models with small random configurations, and the table of what is captured of them.

`python -m tests.engines.native.models` writes the table into docs/guides/native.md.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from stepper import native
from stepper.native.explanation import Explanation

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "native.md"
BEGIN, END = "<!-- models -->\n", "<!-- end of models -->\n"

_SIZES: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
}  # fmt: skip

Model = tuple[nn.Module, dict[str, torch.Tensor]]
"""A model in evaluation mode, and the arguments that it is called with."""


class Convolutions(nn.Module):
    """Convolution, batch normalization, pooling and a linear layer, in sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(36, 5),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Recurrent(nn.Module):
    """A recurrent network that is a loop in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(8, 4)

    def forward(self, xs: torch.Tensor) -> Any:
        state = torch.zeros(2, 4)
        states = []
        for x in xs:
            state = torch.tanh(self.cell(torch.cat([x, state], dim=1)))
            states.append(state)
        return torch.stack(states), state


def _tokens() -> torch.Tensor:
    return torch.arange(8)[None]


def gpt2() -> Model:
    config = transformers.GPT2Config(
        n_layer=2, n_head=2, n_embd=32, vocab_size=64, n_positions=32, use_cache=False,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return transformers.GPT2Model(config), {"input_ids": _tokens()}


def llama() -> Model:
    config = transformers.LlamaConfig(
        vocab_size=64, num_key_value_heads=2, max_position_embeddings=64, use_cache=False, **_SIZES
    )
    return transformers.LlamaModel(config), {"input_ids": _tokens()}


def gpt2_with_cache() -> Model:
    config = transformers.GPT2Config(
        n_layer=2, n_head=2, n_embd=32, vocab_size=64, n_positions=32, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config), {"input_ids": _tokens()}


def llama_with_cache() -> Model:
    config = transformers.LlamaConfig(
        vocab_size=64, num_key_value_heads=2, max_position_embeddings=64, **_SIZES
    )
    return transformers.LlamaForCausalLM(config), {"input_ids": _tokens()}


def t5() -> Model:
    config = transformers.T5Config(
        vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, use_cache=False
    )
    return transformers.T5Model(config), {"input_ids": _tokens(), "decoder_input_ids": _tokens()}


def bert() -> Model:
    config = transformers.BertConfig(vocab_size=64, max_position_embeddings=64, **_SIZES)
    mask = torch.ones_like(_tokens())
    return transformers.BertModel(config), {"input_ids": _tokens(), "attention_mask": mask}


def vit() -> Model:
    config = transformers.ViTConfig(image_size=32, patch_size=8, **_SIZES)
    return transformers.ViTModel(config), {"pixel_values": torch.randn(1, 3, 32, 32)}


def convolutions() -> Model:
    return Convolutions(), {"x": torch.randn(2, 3, 8, 8)}


def recurrent() -> Model:
    return Recurrent(), {"xs": torch.randn(5, 2, 4)}


MODELS: dict[str, Callable[[], Model]] = {
    "GPT-2": gpt2, "LLaMA": llama, "T5": t5, "BERT": bert, "ViT": vit,
    "GPT-2 with its head and a cache": gpt2_with_cache,
    "LLaMA with its head and a cache": llama_with_cache,
    "convolutions": convolutions, "recurrent, a loop in Python": recurrent,
}  # fmt: skip


def make(name: str) -> Model:
    """One of `MODELS`, always with the same parameters and arguments."""
    torch.manual_seed(0)
    model, arguments = MODELS[name]()
    return model.train(False), arguments


def explain(name: str) -> Explanation:
    """What is captured of a model, without gradients."""
    model, arguments = make(name)
    with torch.no_grad():
        return native.explain(model)(**arguments)


def versions() -> str:
    """With what the table is made."""
    torch_version = torch.__version__.partition("+")[0]
    python = ".".join(platform.python_version_tuple()[:2])
    return f"transformers {transformers.__version__}, torch {torch_version}, Python {python}"


def table() -> str:
    """The table, in Markdown."""
    lines = [
        f"With {versions()}, in evaluation mode and without gradients:",
        "",
        "| model | graphs | operations | breaks |",
        "| --- | --- | --- | --- |",
    ]
    for name in MODELS:
        found = explain(name)
        reasons = "; ".join(dict.fromkeys(why for _, _, why in found.breaks)) or "none"
        lines.append(f"| {name} | {found.graph_count} | {found.op_count} | {reasons} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table into its page."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n{table()}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
