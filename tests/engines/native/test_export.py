"""What is exported computes what the function does, and says what must hold for that."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from stepper import native

pytestmark = pytest.mark.evaluator_out

X = torch.arange(3.0)


def nested(x: torch.Tensor, parts: dict[str, list[torch.Tensor]], *, scale: int = 2) -> Any:
    y = x.sin() + parts["a"][0]
    return [y, x], {"scaled": y * scale, "scale": scale}, parts["a"][1]


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("kept", torch.ones(2))

    def forward(self, x: torch.Tensor, *, y: torch.Tensor | None = None) -> Any:
        return self.linear(x if y is None else y) + self.kept, self.kept


@pytest.mark.parametrize("aten_graph", [False, True])
def test_it_takes_and_gives_what_the_function_does(aten_graph: bool) -> None:
    layer = Layer()
    parts = {"a": [torch.zeros(3), torch.ones(2)]}
    cases: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (nested, (X, parts), {}),
        (nested, (X, parts), {"scale": 3}),
        (layer, (X,), {}),
        (layer, (X,), {"y": X + 1}),
        (layer.forward, (X,), {}),
        (torch.nn.Linear(3, 2), (X,), {}),
        (lambda *each, **named: each[0] + each[1] * named["k"], (X, X * 2), {"k": X * 3}),
        (lambda x: (x, 3), (X,), {}),
        (lambda: torch.ones(3) + 1, (), {}),
    ]
    for function, args, kwargs in cases:
        exported = native.export(function, *args, aten_graph=aten_graph, **kwargs)
        others = tuple(each + 1 if isinstance(each, torch.Tensor) else each for each in args)
        given = exported.graph_module(*others, **kwargs)
        torch.testing.assert_close(given, function(*others, **kwargs))


def test_bodies_of_conditions_are_part_of_it() -> None:
    def chosen(first: torch.Tensor, second: torch.Tensor, x: torch.Tensor) -> Any:
        def inner(x: torch.Tensor) -> torch.Tensor:
            return torch.cond(second, lambda x: x * 10, lambda x: -x, [x])

        return torch.cond(first, lambda x: x.sin(), lambda x: x + inner(x), [x])

    graph = native.export(chosen, torch.tensor(False), torch.tensor(True), X).graph_module
    for choices in ((True, True), (False, True), (False, False)):
        given = (*map(torch.tensor, choices), X)
        assert torch.equal(graph(*given), chosen(*given))


def test_operators_are_taken_apart_by_a_table() -> None:
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x.t() + x.t()

    def calls(graph: torch.fx.Graph) -> int:
        return len(graph.find_nodes(op="call_function", target=torch.ops.aten.t.default))

    table: Any = {torch.ops.aten.t.default: lambda x: x.cos()}
    taken = native.export(twice, X, aten_graph=True, decomposition_table=table).graph_module
    assert calls(taken.graph) == 0
    assert torch.equal(taken(X), X.cos() * 2)
    assert calls(native.export(twice, X, aten_graph=True).graph_module.graph) == 2
    with pytest.raises(AssertionError, match="needs aten_graph=True"):
        native.export(twice, X, decomposition_table=table)


def test_its_guards_say_what_must_hold() -> None:
    guards = native.export(nested, X, {"a": [X, X]}, scale=4).guards
    assert "L['scale'] == 4" in str(next(each for each in guards if each.name == "L['scale']"))


def grows(x: torch.Tensor, into: list[Any]) -> torch.Tensor:
    into.append(x + 1)
    return x


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: grows(x, SEEN), "changes what it has not made"),
        (lambda x: x + 1 if x.sum() > 0 else x, "needs the data"),
        (lambda x: x + object(), "of a tensor and object"),
    ],
)
def test_what_no_graph_can_do_is_an_error(function: Any, reason: str) -> None:
    with pytest.raises(native.Unsupported, match=reason):
        native.export(function, X)


SEEN: list[Any] = []


def test_nothing_of_it_is_left() -> None:
    native.export(nested, X, {"a": [X, X]})
    assert native.export_guards(nested) == []


def test_optimize_that_is_disabled_captures_nothing() -> None:
    def fails(gm: Any, inputs: Any) -> Any:
        raise AssertionError

    inner = native.optimize(fails, disable=True)(lambda x: x + 1)
    outer = native.optimize(lambda gm, inputs: gm.forward)(lambda x: inner(x) * 2)
    assert torch.equal(outer(X), (X + 1) * 2)


def test_the_environment_disables_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    made: list[Any] = []
    captured = native.optimize(lambda gm, _: made.append(gm) or gm.forward)(lambda x: x + 1)
    assert torch.equal(captured(X), X + 1)
    assert not made


def test_of_nested_captures_the_outermost_counts() -> None:
    made: list[str] = []

    def noted(name: str) -> Any:
        return lambda gm, _: made.append(name) or gm.forward

    def f(x: torch.Tensor) -> torch.Tensor:
        return x.cos() + 1

    inner = native.optimize_assert(noted("inner"))(f)
    runs = native.run(inner)

    def g(x: torch.Tensor) -> torch.Tensor:
        return inner(x) * runs(x)

    outer = native.optimize_assert(noted("outer"))(g)
    for _ in range(2):
        assert torch.equal(outer(X), f(X) * f(X))
        assert torch.equal(native.run(inner)(X), f(X))
    assert made == ["outer"]
    inner(X)
    native.optimize_assert(noted("around"))(native.run(inner))(X)
    assert made == ["outer", "inner", "around"]


def test_a_module_that_is_captured_by_itself_is_part_of_another() -> None:
    made: list[Any] = []
    plain = torch.nn.Linear(4, 4)
    inner: Any = native.optimize_assert(lambda gm, _: made.append(gm) or gm.forward)(plain)
    outer = torch.nn.Sequential(inner, torch.nn.ReLU())
    captured = native.optimize_assert(lambda gm, _: gm.forward)(outer)
    x = torch.ones(2, 4)
    assert torch.equal(captured(x), plain(x).relu())
    plain.register_forward_hook(lambda module, args, result: result * 2)
    assert torch.equal(captured(x), plain(x).relu())
    assert not made
