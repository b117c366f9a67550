"""What depends on the data of tensors: symbols without a value, where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._dynamo import config as dynamo_config

from stepper import native
from stepper.native import config

graphs: list[torch.fx.GraphModule] = []


def keep_graph(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
    graphs.append(gm)
    return gm.forward


@pytest.fixture(autouse=True)
def captured_scalars(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    graphs.clear()
    monkeypatch.setattr(config, "capture_scalar_outputs", True)
    monkeypatch.setattr(config, "capture_dynamic_output_shape_ops", True)
    yield
    native.reset()


def added(x: torch.Tensor) -> Any:
    return x + x.sum().item()


def as_int(x: torch.Tensor) -> Any:
    return int(x.sum()) + 1, float(x[0]) * 2


def listed(x: torch.Tensor) -> Any:
    first, *others = x.tolist()
    return first * 2, others


def of_a_constant(x: torch.Tensor) -> Any:
    return x + torch.tensor(3).item()


def length_from_data(x: torch.Tensor) -> Any:
    n = x.sum().item()
    torch._check(n >= 2)
    torch._check(n < 100)
    return torch.ones(int(n))


def found_places(x: torch.Tensor) -> Any:
    places = x.nonzero()
    return places, places.shape[0] + 1


def made_of_it(x: torch.Tensor) -> Any:
    return torch.tensor([[x.sum().item()], [2]])


@pytest.mark.parametrize("backend", [keep_graph, "aot_eager"], ids=["kept", "aot_eager"])
@pytest.mark.parametrize(
    "function",
    [added, as_int, listed, of_a_constant, length_from_data, found_places, made_of_it],
    ids=lambda each: each.__name__,
)
def test_other_data_needs_no_other_entry(function: Callable[..., Any], backend: Any) -> None:
    call = native.optimize_assert(backend)(function)
    for data in ([1, 2, 3], [5, 0, 2], [0, 7, 1]):
        x = torch.tensor(data)
        expected, given = function(x), call(x)
        torch.testing.assert_close(given, expected)
        flat = given if isinstance(given, tuple) else (given,)
        known = expected if isinstance(expected, tuple) else (expected,)
        assert [type(each) for each in flat] == [type(each) for each in known]
    assert backend == "aot_eager" or len(graphs) == 1


def test_what_was_assumed_is_checked_where_the_graph_runs() -> None:
    call = native.optimize_assert(keep_graph)(length_from_data)
    assert call(torch.tensor([4, 5])).shape == (9,)
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        call(torch.tensor([1, 0]))
    assert len(graphs) == 1


def chosen(x: torch.Tensor) -> torch.Tensor:
    n = x.sum().item()
    if n > 3:
        return x + n
    return x - n


def indexed(x: torch.Tensor) -> torch.Tensor:
    return x * [1, 2, 3, 4, 5, 6, 7][int(x.sum())]


def in_a_text(x: torch.Tensor) -> Any:
    return x + len(f"{x.sum().item()}")


def one_by_one(x: torch.Tensor) -> Any:
    return [each + 1 for each in x.nonzero()]


@pytest.mark.parametrize(
    "function", [chosen, indexed, in_a_text, one_by_one], ids=lambda each: each.__name__
)
def test_what_needs_the_number_breaks_the_graph(function: Callable[..., Any]) -> None:
    call = native.optimize(keep_graph)(function)
    for data in ([1, 2], [0, 1], [4, 0]):
        x = torch.tensor(data)
        torch.testing.assert_close(call(x), function(x))
    with pytest.raises(native.Unsupported, match=r"not known|data|index|text"):
        native.optimize_assert(keep_graph)(function)(torch.tensor([1, 2, 2]))


@pytest.mark.parametrize("one_graph", [False, True])
def test_without_the_setting_only_one_graph_captures_it(
    monkeypatch: pytest.MonkeyPatch, one_graph: bool
) -> None:
    monkeypatch.setattr(config, "capture_scalar_outputs", False)
    optimize = native.optimize_assert if one_graph else native.optimize
    x = torch.tensor([1, 2, 3])
    torch.testing.assert_close(optimize(keep_graph)(added)(x), added(x))
    operations = [node.target for graph in graphs for node in graph.graph.nodes]
    assert ("item" in operations) is one_graph


def test_dynamos_setting_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "capture_scalar_outputs", False)
    with dynamo_config.patch(capture_scalar_outputs=True):
        native.optimize(keep_graph)(added)(torch.tensor([1, 2, 3]))
    assert "item" in [node.target for node in graphs[0].graph.nodes]
