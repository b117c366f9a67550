"""Modules whose parameters get their shapes at the first call, where there must be one graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from torch.nn.modules.lazy import LazyModuleMixin

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out


class Given(NamedTuple):
    parts: dict[str, list[torch.Tensor]]


class Scaled(LazyModuleMixin, torch.nn.Module):
    """One of the program's own, which is called with containers."""

    def initialize_parameters(self, given: Given, more: Any = None) -> None:
        shape = given.parts["a"][0].shape
        self.scale = torch.nn.Parameter(torch.randn(shape))

    def forward(self, given: Given, more: Any = None) -> torch.Tensor:
        return given.parts["a"][0] * self.scale


class ByData(Scaled):
    def initialize_parameters(self, given: Given, more: Any = None) -> None:
        self.scale = torch.nn.Parameter(given.parts["a"][0] * 2)


class Unable(Scaled):
    def initialize_parameters(self, given: Given, more: Any = None) -> None:
        raise KeyError("nothing")


class Model(torch.nn.Module):
    def __init__(self, kind: type[Scaled]) -> None:
        super().__init__()
        self.scaled = kind()
        self.layers = torch.nn.Sequential(
            torch.nn.LazyLinear(4), torch.nn.LazyBatchNorm1d(), torch.nn.Dropout(0.5)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(self.scaled(Given({"a": [x + 1, x]}), more=None)).relu()


def test_they_are_made_ready_before_the_graph_in_the_order_of_the_program() -> None:
    results = []
    for captured in (False, True):
        torch.manual_seed(0)
        model = Model(Scaled)
        call: Any = native.optimize_assert(run_graph)(model) if captured else model
        result = call(torch.ones(2, 3))
        drawn = torch.rand(2)  # also the dropout has drawn
        result.sum().backward()
        result = result.detach()
        results.append([result, drawn, *model.state_dict().values(), model.scaled.scale.grad])
        assert type(model.layers[0]) is torch.nn.Linear
        assert call(torch.ones(2, 3)).shape == (2, 4)
    assert all(map(torch.equal, *results))


@pytest.mark.parametrize(
    ("kind", "reason"), [(ByData, "looks at the data"), (Unable, "KeyError: 'nothing'")]
)
def test_what_cannot_make_itself_ready_without_data(kind: type[Scaled], reason: str) -> None:
    model = Model(kind)
    with pytest.raises(native.Unsupported, match=reason):
        native.optimize_assert(run_graph)(model)(torch.ones(2, 3))
    assert "scale" not in model.scaled._parameters


def test_not_after_something_was_drawn() -> None:
    def f(model: Model, x: torch.Tensor) -> Any:
        return model(x + torch.rand(2, 3))

    model = Model(Scaled)
    torch.manual_seed(0)
    with pytest.raises(native.Unsupported):
        native.optimize_assert(run_graph)(f)(model, torch.ones(2, 3))
    assert type(model.layers[0]) is torch.nn.LazyLinear
    torch.manual_seed(0)
    result = native.optimize(run_graph)(f)(model, torch.ones(2, 3))
    torch.manual_seed(0)
    assert torch.equal(result, f(Model(Scaled), torch.ones(2, 3)))
