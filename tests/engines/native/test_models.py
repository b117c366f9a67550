"""Real models: the same numbers as eager, and few graphs."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import GPT2Config, GPT2Model

from stepper import native
from tests.engines.native.harness import run_graph


def test_gpt2_in_evaluation_mode_is_one_graph() -> None:
    torch.manual_seed(0)
    config = GPT2Config(
        n_layer=2, n_head=2, n_embd=32, vocab_size=64, n_positions=32, use_cache=False,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = GPT2Model(config).eval()
    tokens = torch.arange(8)[None]
    with torch.no_grad():
        explanation = native.explain(model)(tokens)
        assert explanation.graph_count == 1, str(explanation)
        assert explanation.op_count > 100
        native.reset()
        captured = native.compile(model, backend="eager")
        for _ in range(2):
            expected, got = model(tokens), captured(tokens)
            assert type(got) is type(expected)
            assert torch.equal(got.last_hidden_state, expected.last_hidden_state)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(36, 5),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)  # type: ignore[no-any-return]


class Recurrent(nn.Module):
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


def gradients(model: nn.Module, call: Any, x: torch.Tensor) -> list[torch.Tensor]:
    model.zero_grad()
    result = call(x)
    result = result[0] if isinstance(result, tuple) else result
    result.square().sum().backward()
    return [result.detach(), *[p.grad.clone() for p in model.parameters() if p.grad is not None]]


def test_a_training_step_of_convolutions() -> None:
    torch.manual_seed(0)
    model, x = Convolutions().eval(), torch.randn(2, 3, 8, 8)
    captured = native.optimize(run_graph)(model)
    for expected, got in zip(
        gradients(model, model, x), gradients(model, captured, x), strict=True
    ):
        assert torch.allclose(expected, got)
    assert native.explain(model)(x).graph_count == 1


def test_batch_normalization_keeps_its_statistics() -> None:
    torch.manual_seed(0)
    one, x = Convolutions(), torch.randn(2, 3, 8, 8)
    other = Convolutions()
    other.load_state_dict(one.state_dict())
    captured = native.optimize(run_graph)(other)
    for _ in range(3):
        assert torch.allclose(one(x), captured(x))
    for name, value in one.state_dict().items():
        assert torch.allclose(value, other.state_dict()[name]), name


def test_a_recurrent_network_with_a_loop() -> None:
    torch.manual_seed(0)
    model, x = Recurrent(), torch.randn(5, 2, 4)
    captured = native.optimize(run_graph)(model)
    for expected, got in zip(
        gradients(model, model, x), gradients(model, captured, x), strict=True
    ):
        assert torch.allclose(expected, got)
    assert native.explain(model)(x).graph_count == 1
