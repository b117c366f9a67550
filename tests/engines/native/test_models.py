"""Real models: the same numbers as eager, and one graph each in evaluation mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from stepper import native
from tests.engines.native import models
from tests.engines.native.harness import run_graph
from tests.engines.native.models import Convolutions, Recurrent

pytestmark = pytest.mark.evaluator_out


def tensors(output: Any) -> dict[Any, torch.Tensor]:
    """The tensors of what a model returns, by name or place."""
    if isinstance(output, dict):
        return {key: each for key, each in output.items() if isinstance(each, torch.Tensor)}
    return dict(enumerate(output)) if isinstance(output, tuple) else {0: output}


@pytest.mark.parametrize("name", models.MODELS)
def test_a_model_is_one_graph_and_computes_the_same(name: str) -> None:
    model, arguments = models.make(name)
    with torch.no_grad():
        explanation = native.explain(model)(**arguments)
        assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)
        native.reset()
        captured = native.optimize(run_graph, nopython=True)(model)
        for _ in range(2):
            expected, got = model(**arguments), captured(**arguments)
            assert type(got) is type(expected)
            assert list(tensors(got)) == list(tensors(expected))
            for key, value in tensors(expected).items():
                assert torch.allclose(tensors(got)[key], value), key


@pytest.mark.parametrize("name", ["LLaMA", "T5", "BERT", "ViT"])
def test_a_models_gradients_are_the_same(name: str) -> None:
    model, arguments = models.make(name)
    captured = native.optimize(run_graph)(model)
    found = []
    for call in (model, captured):
        model.zero_grad()
        output = call(**arguments)
        output.last_hidden_state.square().mean().backward()
        assert output[0] is output.last_hidden_state
        found.append({key: p.grad for key, p in model.named_parameters() if p.grad is not None})
    assert list(found[0]) == list(found[1])
    for key, value in found[0].items():
        assert torch.allclose(value, found[1][key], atol=1e-6), key


@pytest.mark.parametrize("name", [name for name in models.MODELS if "cache" in name])
def test_a_model_goes_on_with_the_cache_that_a_captured_call_made(name: str) -> None:
    model, arguments = models.make(name)
    found = []
    for call in (model, native.optimize(run_graph, nopython=True)(model)):
        with torch.no_grad():
            output = call(**arguments)
            for token in (3, 5, 7):
                cache, before = output.past_key_values, output.past_key_values.get_seq_length()
                output = call(input_ids=torch.tensor([[token]]), past_key_values=cache)
                assert output.past_key_values is cache
                assert cache.get_seq_length() == before + 1
        found.append(output.logits)
    assert torch.allclose(*found)


def test_a_models_outputs_as_a_tuple_and_with_hidden_states() -> None:
    model, arguments = models.make("BERT")
    captured = native.optimize(run_graph)(model)
    with torch.no_grad():
        expected = model(**arguments, return_dict=False)
        got = captured(**arguments, return_dict=False)
        assert type(got) is tuple
        assert all(torch.allclose(a, b) for a, b in zip(expected, got, strict=True))
        expected = model(**arguments, output_hidden_states=True)
        got = captured(**arguments, output_hidden_states=True)
        assert len(got.hidden_states) == len(expected.hidden_states) == 3
        assert all(map(torch.allclose, got.hidden_states, expected.hidden_states))


def test_the_table_of_models_is_up_to_date() -> None:
    page = models.PAGE.read_text(encoding="utf-8")
    written = page.partition(models.BEGIN)[2].partition(models.END)[0].strip()
    if models.versions() not in written:
        pytest.skip(f"the table is not made with {models.versions()}")
    assert written == models.table().strip(), "run: python -m tests.engines.native.models"


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


def test_a_module_of_torch_is_captured_itself() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4)), torch.randn(2, 3)
    captured = native.optimize(run_graph, nopython=True)(model)
    for expected, got in zip(
        gradients(model, model, x), gradients(model, captured, x), strict=True
    ):
        assert torch.allclose(expected, got)
    explanation = native.explain(model)(x)
    assert (explanation.graph_count, explanation.op_count) == (1, 3)
