"""Parameters of classes of the program's own: parameters to whoever computes with them, for as long
as the class has nothing of its own for what a parameter has."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from stepper import native
from tests.engines.native.harness import same

pytestmark = pytest.mark.evaluator_out

graphs: list[Any] = []


def keep_graph(gm: Any, inputs: list[Any]) -> Any:
    graphs.append(gm)
    return gm.forward


class Tagged(nn.Parameter):
    scale = 3

    def __new__(cls, data: torch.Tensor, tag: int = 1) -> Tagged:
        made = super().__new__(cls, data)
        vars(made)["tag"] = tag
        return made


class Inner(Tagged):
    pass


class Layer(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.weight = kind(torch.ones(3))

    def forward(self, x: torch.Tensor) -> Any:
        kinds = [isinstance(self.weight, each) for each in (nn.Parameter, Tagged, nn.Buffer)]
        return x * self.weight, kinds, type(self.weight)


def test_parameters_of_own_classes_are_inputs_of_the_graph() -> None:
    for kind in (Tagged, Inner, nn.Parameter):
        layer = Layer(kind)
        captured = native.optimize(keep_graph)(layer)
        graphs.clear()
        x = torch.arange(3.0)
        expected, got = layer(x), captured(x)
        assert same(expected[0], got[0])
        assert expected[1:] == got[1:]
        assert len(graphs) == 1
        got[0].sum().backward()
        assert same(layer.weight.grad, x)


def test_an_operator_that_the_class_gets_later_is_asked() -> None:
    class Growing(nn.Parameter):
        pass

    layer = Layer(Growing)
    captured = native.optimize(keep_graph)(layer)
    assert torch.equal(captured(torch.ones(3))[0], torch.ones(3))
    setattr(Growing, "__rmul__", lambda self, other: "mine")  # noqa: B010  # mypy forbids a method
    assert captured(torch.ones(3))[0] == layer(torch.ones(3))[0] == "mine"


def test_a_method_that_a_parameter_has_is_the_class_s_own() -> None:
    class Counting(nn.Parameter):
        def sum(self, *args: Any, **kwargs: Any) -> Any:
            return 5

    weight = Counting(torch.ones(3))
    captured = native.optimize(keep_graph)(lambda x: (x + 1, weight.sum()))
    assert captured(torch.ones(3))[1] == 5
