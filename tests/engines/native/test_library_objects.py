"""Objects of the library that frames of models use: contexts, the environment, signatures."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import dataclasses
import inspect
import os
from typing import Any

import pytest
import torch
from torch import nn
from transformers.utils.generic import ModelOutput

from stepper import _C, native
from tests.engines.native.harness import check, run_graph, same

pytestmark = pytest.mark.evaluator_out


def test_a_variable_of_the_environment_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * int(os.environ.get("STEPPER_TEST_FACTOR", "2"))

    captured = native.optimize(run_graph)(f)
    assert captured(torch.ones(1)).item() == 2
    monkeypatch.setenv("STEPPER_TEST_FACTOR", "3")
    assert [captured(torch.ones(1)).item() for _ in range(2)] == [3, 3]
    monkeypatch.delenv("STEPPER_TEST_FACTOR")
    assert captured(torch.ones(1)).item() == 2
    assert len(_C.code_cache(f.__code__).entries) == 2


def test_decorated_with_no_grad_and_within_nullcontext() -> None:
    @torch.no_grad()
    def scaled(x: torch.Tensor) -> torch.Tensor:
        with contextlib.nullcontext(3) as factor:
            return x * factor

    def f(x: torch.Tensor) -> Any:
        y = scaled(x)
        return y, y.requires_grad, (x * 2).requires_grad

    explanation = check(f, torch.ones(2, requires_grad=True))
    assert explanation.graph_count == 1, str(explanation)
    assert not explanation.breaks


def test_under_autocast_nothing_is_captured() -> None:
    def f(x: torch.Tensor) -> Any:
        return x @ x, torch.is_autocast_enabled("cpu")

    def g(x: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return f(x)

    check(f, torch.ones(2, 2))
    check(g, torch.ones(2, 2))


def test_parts_of_a_module_list() -> None:
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(4)])

    def f(x: torch.Tensor) -> Any:
        some = layers[1:3]
        for layer in some:
            x = layer(x)
        return layers[:2][0](x), len(some), x

    explanation = check(f, torch.ones(1, 2))
    assert explanation.graph_count == 1, str(explanation)
    assert not explanation.breaks


def test_how_many_parameters_a_function_has() -> None:
    def g(a: Any, b: Any = 1, *, c: Any = 2) -> Any:
        return a

    def f(x: torch.Tensor) -> Any:
        return x * len(inspect.signature(g).parameters), "b" in inspect.signature(g).parameters

    explanation = check(f, torch.ones(1))
    assert explanation.graph_count == 1, str(explanation)
    assert not explanation.breaks


def test_functions_of_the_library_are_values_like_any() -> None:
    named = {inspect.signature: 1, collections.namedtuple: 2}

    def f(x: torch.Tensor) -> Any:
        y = x * named[inspect.signature] + named[collections.namedtuple]
        same = inspect.signature is inspect.signature
        return y, same, collections.namedtuple.__name__, inspect.signature

    explanation = check(f, torch.ones(1))
    assert explanation.graph_count == 1, str(explanation)
    assert not explanation.breaks


VAR: contextvars.ContextVar[Any] = contextvars.ContextVar("VAR", default=0)


def test_a_context_variable_that_is_put_back() -> None:
    def inner(x: torch.Tensor) -> Any:
        outer = VAR.set(1)
        try:
            token = VAR.set(2)
            y = x + 1
            VAR.reset(token)
        finally:
            VAR.reset(outer)
        return y

    def lasting(x: torch.Tensor) -> Any:
        y = x * 2
        VAR.set(y)
        return VAR.get() + y

    def twice(x: torch.Tensor) -> Any:
        token = VAR.set(x + 1)
        VAR.reset(token)
        VAR.reset(token)

    def asked(x: torch.Tensor) -> Any:
        before = VAR.get()
        token = VAR.set(x * 3)
        y = x + VAR.get()
        VAR.reset(token)
        return y, before, VAR.get()

    assert not check(inner, torch.ones(1)).breaks
    assert not check(asked, torch.ones(1)).breaks
    captured = native.optimize(run_graph)(asked)
    for now in (0, 7, "text", None, 7):
        token = VAR.set(now)
        assert same(asked(torch.ones(1)), captured(torch.ones(1)))
        VAR.reset(token)
    check(lasting, torch.ones(1))
    assert VAR.get().item() == 2
    with pytest.raises(RuntimeError, match="already been used"):
        native.optimize(run_graph)(twice)(torch.ones(1))


class Registry(dict[str, Any]):
    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(str(type(key)), default) or {}


def test_an_entry_of_a_dictionarys_subclass_is_looked_up_by_its_own_method() -> None:
    registry = Registry({str(Registry): {"factor": 3}})

    def f(x: torch.Tensor, model: Any) -> Any:
        return x * registry.get(model).get("factor", 1)

    captured = native.optimize(run_graph)(f)
    assert captured(torch.ones(1), registry).item() == 3
    registry["something else"] = {}
    assert captured(torch.ones(1), registry).item() == 3
    registry[str(Registry)] = {"factor": 5}
    assert captured(torch.ones(1), registry).item() == 5
    del registry[str(Registry)]
    assert captured(torch.ones(1), registry).item() == 1


@dataclasses.dataclass
class Output(ModelOutput):  # type: ignore[misc]  # transformers is not read for its types
    loss: Any = None
    logits: Any = None
    states: Any = None


@dataclasses.dataclass
class Doubled(Output):
    def __post_init__(self) -> None:
        self.logits = self.logits * 2
        super().__post_init__()


def test_outputs_of_models() -> None:
    def f(x: torch.Tensor) -> Any:
        states = [x]
        one = Output(logits=x + 1, states=states)
        states.append(one["logits"])
        other = Output(x, None)
        return (
            [one, one], one[0], one.states is states, one.loss, len(one), list(one), "loss" in one,
            isinstance(one, dict), other.to_tuple(), list(other.items()), other.get("states", 5),
            hasattr(one, "logits"), hasattr(one, "nothing"),
        )  # fmt: skip

    explanation = check(f, torch.ones(2))
    assert explanation.graph_count == 1, str(explanation)
    assert not explanation.breaks
    result = native.optimize(run_graph)(f)(torch.ones(2))
    assert result[0][0] is result[0][1]

    def stranger(x: torch.Tensor) -> Any:
        y = x + 1
        return Doubled(None, y), Output((("loss", 1), ("logits", 2)))

    assert not check(stranger, torch.ones(2)).breaks

    def stored(x: torch.Tensor) -> Any:
        output = Output(x + 1, x)
        output.loss = x * 3
        return output

    check(stored, torch.ones(2))
