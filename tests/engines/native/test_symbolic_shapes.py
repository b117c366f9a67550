"""Sizes and numbers that are symbols: one capture serves many, and the guards say which."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.decorators import (
    mark_dynamic,
    mark_static,
    mark_unbacked,
    maybe_mark_dynamic,
)

from stepper import _C, native
from stepper.engines.native.entry_guards import explain
from stepper.native import config
from tests.engines.native import models

pytestmark = pytest.mark.evaluator_out

graphs: list[torch.fx.GraphModule] = []


def keep_graph(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
    graphs.append(gm)
    return gm.forward


def captured(function: Any, dynamic: bool | None = None, backend: Any = keep_graph) -> Any:
    graphs.clear()
    return native.optimize(backend, dynamic=dynamic)(function)


def count(function: Any) -> int:
    return len(_C.code_cache(function.__code__).entries)


def shape_guards(function: Any, entry: int = 0) -> list[str]:
    found: Any = _C.code_cache(function.__code__).entries[entry]
    parts = found.manager.parts
    return [part.name for part, _ in parts if part.kind == "SHAPE_ENV"]


def test_the_second_size_makes_a_symbol() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * x.shape[0] + x.size(0)

    call = captured(f)
    for n in (3, 4, 5, 6, 7):
        assert torch.equal(call(torch.ones(n, 2)), f(torch.ones(n, 2)))
    assert count(f) == 2
    assert shape_guards(f) == ["L['x'].size()[0] >= 2"]
    call(torch.ones(4, 3))  # the other dimension changes, too
    call(torch.ones(9, 9))
    assert count(f) == 3


def test_zero_and_one_are_known() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sum() + x.shape[0]

    call = captured(f)
    for n in (3, 4, 1, 0, 1, 8):
        assert call(torch.ones(n)).item() == 2 * n
    assert count(f) == 4


def test_a_number_of_a_class_that_changes_is_a_symbol() -> None:
    class Scale:
        by = 2

    def f(x: torch.Tensor, scale: Scale) -> torch.Tensor:
        return x * scale.by

    call = captured(f)
    for by in (2, 3, 4, 9):
        Scale.by = by
        assert call(torch.ones(2), Scale()).tolist() == [by, by]
    assert count(f) == 2


def test_everything_is_a_symbol_at_once_if_asked_for() -> None:
    def f(x: torch.Tensor, y: torch.Tensor, n: int) -> torch.Tensor:
        return torch.cat([x, y]) * n

    call = captured(f, dynamic=True)
    for a, b, n in ((2, 3, 4), (5, 7, 9), (3, 2, 8)):
        assert torch.equal(call(torch.ones(a, 9), torch.ones(b, 9), n), torch.ones(a + b, 9) * n)
    assert count(f) == 1


def test_nothing_is_a_symbol_if_asked_for() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    call = captured(f, dynamic=False)
    for n in (2, 3, 4):
        call(torch.ones(n), n)
    assert count(f) == 3


def test_sizes_that_are_equal_are_one_symbol() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    call = captured(f, dynamic=True)
    call(torch.ones(4), torch.ones(4))
    call(torch.ones(7), torch.ones(7))
    assert count(f) == 1
    assert "L['y'].size()[0] == L['x'].size()[0]" in shape_guards(f)
    with pytest.raises(RuntimeError, match="size of tensor"):
        call(torch.ones(7), torch.ones(6))


def test_marks_are_followed() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum() + y.sum()

    call = captured(f)
    for n in (5, 7, 3):
        x, y = torch.ones(n, 4), torch.ones(2)
        mark_dynamic(x, 0)
        assert call(x, y).item() == 4 * n + 2
    assert count(f) == 1
    assert call(torch.ones(8, 4), torch.ones(2)).item() == 34  # without marks, too
    assert count(f) == 1
    (source,) = native.export_guards(f)
    assert "L['x']._dynamo_dynamic_indices.issubset({0})" in source
    other = torch.ones(5, 4)
    mark_dynamic(other, 1)
    call(other, torch.ones(2))
    assert count(f) == 2


def test_marks_that_are_wishes_and_marks_that_forbid() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum() + y.sum()

    call = captured(f)
    for n in (5, 7, 3):
        x, y = torch.ones(n), torch.ones(n)
        maybe_mark_dynamic(x, 0)
        mark_static(y, 0)
        assert call(x, y).item() == 2 * n
    assert count(f) == 3


@pytest.mark.parametrize("dynamic", [None, False])
def test_what_a_setting_names_is_a_symbol_from_the_first_call_on(
    monkeypatch: pytest.MonkeyPatch, dynamic: bool | None
) -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x.sum() * n

    monkeypatch.setattr(torch.compiler.config, "dynamic_sources", "L['x']:0, L['n']")
    call = captured(f, dynamic)
    for n in (5, 7, 3):
        assert call(torch.ones(n, 2), n).item() == 2 * n * n
    assert count(f) == 1
    call(torch.ones(5, 3), 5)  # the other dimension is not named
    assert count(f) == 2


@pytest.mark.parametrize("listed", ["L\\['x", "L['x']", "(", ""])
def test_a_setting_names_by_a_pattern_or_exactly(
    monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sum()

    monkeypatch.setattr(torch.compiler.config, "unbacked_sources", listed)
    call = captured(f, dynamic=False)
    for n in (5, 7):
        assert call(torch.ones(n)).item() == n
    assert count(f) == (1 if listed.startswith("L") else 2)


def test_a_size_that_is_marked_as_unbacked_is_a_symbol_with_a_value() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.shape[0] == 5 else x + 1

    call = captured(f)
    for n in (6, 7, 5):
        x = torch.ones(n)
        mark_unbacked(x, 0)
        assert torch.equal(call(x), f(x))
    assert count(f) == 2


def test_a_marked_size_that_must_be_known_is_told() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.shape[0] == 5 else x

    x = torch.ones(5)
    mark_dynamic(x, 0)
    assert torch.equal(captured(f)(x), x * 2)
    assert count(f) == 0
    ((_, reason),) = native.explain(f)(torch.ones(5)).skips or [("", "")]
    assert reason == ""
    native.reset()
    ((_, reason),) = native.explain(f)(x).skips
    assert "marked as dynamic" in reason


def test_a_branch_is_a_guard() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.shape[0] > 4 else x - 1

    call = captured(f, dynamic=True)
    for n in (6, 9, 3, 2, 12):
        assert torch.equal(call(torch.ones(n)), f(torch.ones(n)))
    assert count(f) == 2
    assert shape_guards(f, 0) == ["L['x'].size()[0] >= 5"]
    assert shape_guards(f, 1) == ["2 <= L['x'].size()[0] and L['x'].size()[0] <= 4"]


def test_a_lookup_says_which_condition_fails() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y if x.shape[0] > 4 else x

    captured(f, dynamic=True)(torch.ones(6), torch.ones(6))
    (entry,) = _C.code_cache(f.__code__).entries
    for sizes, failing in (
        ((3, 3), "L['x'].size()[0] >= 5"),
        ((6, 7), "L['y'].size()[0] == L['x'].size()[0]"),
    ):
        f_locals: dict[str, object] = {"x": torch.ones(sizes[0]), "y": torch.ones(sizes[1])}
        report = explain(entry, f_locals, f.__globals__)
        (failed,) = [str(part.guard) for part in report.guards if not part.passed]
        assert failing in failed


@pytest.mark.parametrize(
    "use",
    [
        lambda x, n: sum([x * i for i in range(n)]),
        lambda x, n: x + [10, 20, 30, 40, 50][n],
        lambda x, n: x + len(f"{n}"),
        lambda x, n: x * {2: 1, 3: 2, 4: 3}[n],
        lambda x, n: x * ([1, 2] * n)[-1],
        lambda x, n: x + len((1, 2) * n),
    ],
    ids=["range", "index", "text", "key", "list", "tuple"],
)
def test_what_must_be_known_is_specialized(use: Callable[..., Any]) -> None:
    call = captured(use)
    for n in (2, 3, 4, 2, 3):
        assert torch.equal(call(torch.ones(2), n), use(torch.ones(2), n))
    assert count(use) == 3
    assert shape_guards(use, 0) in (["L['n'] == 3"], ["L['n'] == 4"])


@pytest.mark.parametrize(
    "use",
    [
        lambda x, n: x + n,
        lambda x, n: x * (n * 2 - 3) / (n + 0.5),
        lambda x, n: x[:n] * (n // 2) + n % 3,
        lambda x, n: torch.zeros(n, 2) + x[:1],
        lambda x, n: (x.sum(), n + 1, -n),
        lambda x, n: x * max(n, 3) + min(n, 4) + float(n),
        lambda x, n: x.view(-1, 2).expand(n, 5, 2),
        lambda x, n: (x + 1 if n is not None and isinstance(n, int) else x, n),
        lambda x, n: x.new_full((n,), 1.5).numel() + x,
        lambda x, n: (x[n - 1], torch.tensor([n, 1]), x.new(n, 0).shape.numel()),
        lambda x, n: x + abs(2 - n) + math.prod([n, 2]) + torch.Size([n, 2])[0],
        lambda x, n: x + (n << 1) - (n >> 1) + (n & 6) + (n | 8) + (n ^ 3),
        lambda x, n: x + math.floor(n / 2) + math.ceil(n / 2) + round(n / 3) + int(n * 1.5),
        lambda x, n: x + max([n, 3]) + min(1, n, 2) + math.trunc(n / 4),
    ],
)
def test_what_can_be_computed_with_a_symbol(use: Callable[..., Any]) -> None:
    call = captured(use)
    for n in (5, 6, 7, 8, 9):
        expected, got = use(torch.ones(10, 1), n), call(torch.ones(10, 1), n)
        assert repr(got) == repr(expected)
    assert count(use) == 2


FLOATS = (0.3, 0.7, 0.30000000000000004, 0.1, 0.0, -0.5, 1.0, 1e30)


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda x, p: x * p + p, 2),
        (lambda x, p: (x.add_(1 - p), -p, p / 3, [p]), 2),
        (lambda x, p: torch.full((2,), p * 2).clamp(max=p), 2),
        (lambda x, p: x * p if p > 0.30000000000000001 else x - p, 3),
        (lambda x, p: x * p if p else x - 1, 3),
    ],
    ids=["tensors", "floats", "arguments", "branch", "truth"],
)
def test_floats_that_change_are_symbols(use: Callable[..., Any], expected: int) -> None:
    call = captured(use)
    for p in FLOATS:
        assert repr(call(torch.ones(2), p)) == repr(use(torch.ones(2), p))
    assert count(use) == expected


@pytest.mark.parametrize(
    "use",
    [
        lambda x, p: x + len(f"{p:.3f}"),
        lambda x, p: (x + 1, (min(p, 3) - 1) ** 0.5, p // 0.2, p % 0.3),
        lambda x, p: (x + 1, max(p, 1), min(1, p), round(p, 1), {p: 2}, p.hex()),
        lambda x, p: (x + 1, p * 2 > 0.6, p + x.shape[0] < 2.5, p in (0.1, 0.3)),
    ],
    ids=["text", "power", "builtins", "comparisons"],
)
def test_a_float_is_known_where_it_has_to_be(use: Callable[..., Any]) -> None:
    call = captured(use)
    for p in FLOATS:
        assert repr(call(torch.ones(2), p)) == repr(use(torch.ones(2), p))


def test_floats_are_known_where_the_backend_can_do_nothing_with_symbols() -> None:
    def f(x: torch.Tensor, p: float) -> torch.Tensor:
        return (x.sin() * p).sum()

    call = captured(f, backend="aot_eager")
    for p in (0.3, 0.7, 0.1):
        x = torch.zeros(2, requires_grad=True)
        call(x, p).backward()
        assert torch.equal(x.grad, torch.full((2,), p))  # type: ignore[arg-type]  # it has one
    assert count(f) == 3


def test_ints_are_known_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    monkeypatch.setattr(config, "specialize_int", True)
    call = captured(f)
    for n in (2, 3, 4):
        call(torch.ones(2), n)
    assert count(f) == 3


def test_sizes_are_known_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    monkeypatch.setattr(config, "automatic_dynamic_shapes", False)
    call = captured(f)
    for n in (2, 3, 4):
        call(torch.ones(n))
    assert count(f) == 3


def test_sizes_that_only_steer_are_no_nodes() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        rows, columns = x.shape
        return x.reshape(rows * columns) if rows > columns else x

    call = captured(f, dynamic=True)
    assert call(torch.ones(5, 3)).shape == (15,)
    assert call(torch.ones(7, 4)).shape == (28,)
    (gm,) = graphs
    names = [str(node.target) for node in gm.graph.nodes if node.op.startswith("call")]
    assert names.count("size") == 2
    assert "reshape" in names


def test_views_strides_and_gradients() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return (x.transpose(0, 1) * x.shape[1]).contiguous().view(-1)

    call = captured(f, dynamic=True)
    base = torch.arange(60.0).reshape(6, 10)
    for x in (base, base[1:], base[:, 2:], base.t(), base[::2].requires_grad_()):
        assert torch.equal(call(x), f(x))
    x = torch.ones(4, 7, requires_grad=True)
    call(x).sum().backward()
    assert torch.equal(x.grad, torch.full((4, 7), 7.0))  # type: ignore[arg-type]  # it has one


class Remembers(torch.nn.Module):
    """Keeps what it was given before, and a buffer of a size of its own."""

    weight: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.ones(3))
        self.before: dict[str, torch.Tensor] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.before["x"] = torch.cat([self.before.get("x", x), x])
        return self.before["x"].sum(0) * self.weight


def test_what_a_module_keeps_beside_its_parameters_has_symbols() -> None:
    plain, module = Remembers(), Remembers()
    call = captured(module)
    for n in (3, 2, 2, 2, 2, 2):
        assert torch.equal(call(torch.ones(n, 3)), plain(torch.ones(n, 3)))
    assert count(Remembers.forward) == 3


def test_an_operator_that_takes_symbols_in_python_only() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[0] % 4))

    call = captured(f)
    for n in (3, 5, 6, 9):
        assert torch.equal(call(torch.ones(n, 2)), f(torch.ones(n, 2)))
    assert count(f) == 2


def test_a_graph_is_broken_between_symbols() -> None:
    def f(x: torch.Tensor, n: int) -> Any:
        y = x * x.shape[0] + n
        print(end="")
        return y + n, x.shape, x.shape[0] * 2

    call = captured(f, dynamic=True)
    for size, n in ((3, 4), (5, 6), (7, 8)):
        expected, got = f(torch.ones(size), n), call(torch.ones(size), n)
        assert repr(got) == repr(expected)
        assert [type(each) for each in got] == [torch.Tensor, torch.Size, int]
    assert count(f) == 1


def test_a_compiler_of_torch_gets_symbols() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return (x.view(-1) * n + x.shape[0]).sum()

    call = captured(f, dynamic=True, backend="aot_eager")
    for size, n in ((3, 4), (5, 6), (7, 8)):
        x = torch.ones(size, 2, requires_grad=True)
        call(x, n).backward()
        assert torch.equal(x.grad, torch.full((size, 2), float(n)))  # type: ignore[arg-type]  # it has one
    assert count(f) == 1


def test_one_capture_of_a_model_serves_many_sizes() -> None:
    model, _ = models.make("GPT-2")
    call = native.optimize(keep_graph)(model)
    graphs.clear()
    with torch.no_grad():
        for batch, length in ((1, 8), (2, 9), (3, 10), (4, 11), (5, 12), (7, 20)):
            tokens = torch.arange(batch * length).reshape(batch, length) % 64
            assert torch.allclose(call(tokens)[0], model(tokens)[0], atol=1e-5)
    assert len(graphs) == 2
    (entry, _) = native.export_guards(model)
    assert "L['args'][0].size()[0] >= 2" in entry
