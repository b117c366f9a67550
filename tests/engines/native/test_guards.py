"""Each thing that a capture depends on is noticed when it changes, and nothing else is."""

from __future__ import annotations

import gc
import math
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from stepper import _C, native
from stepper.engines.native.entry_guards import explain
from stepper.native import config
from stepper.native.runtime.cache_entry import GuardedCode
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out


def entries(function: Any) -> tuple[Any, ...]:
    return _C.code_cache(function.__code__).entries


class Captured:
    """A captured function, and how often it was captured."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.call = native.optimize(run_graph)(function)

    @property
    def count(self) -> int:
        return len(entries(self.function))

    def why_not(self, *args: Any) -> list[str]:
        """The guards that fail for a call."""
        code = self.function.__code__
        f_locals = dict(zip(code.co_varnames, args, strict=False))
        f_globals = self.function.__globals__
        reports = [explain(each, f_locals, f_globals) for each in _C.code_cache(code).entries]
        return [str(part.guard) for report in reports for part in report.guards if not part.passed]


@pytest.mark.parametrize(
    "other",
    [
        torch.ones(3, dtype=torch.float64),
        torch.ones(4),
        torch.ones(1, 3),
        torch.ones(3, requires_grad=True),
        torch.ones(6)[::2],
        nn.Parameter(torch.ones(3)),
        torch.ones(3, device="meta"),
    ],
    ids=["dtype", "size", "dimensions", "requires_grad", "strides", "class", "device"],
)
def test_another_tensor_is_captured_anew(other: torch.Tensor) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    captured = Captured(f)
    captured.call(torch.ones(3))
    captured.call(torch.zeros(3))
    assert captured.count == 1
    assert any("___check_tensors(L['x'])" in reason for reason in captured.why_not(other))
    result = captured.call(other)
    assert captured.count == 2
    assert result.dtype == other.dtype
    assert result.requires_grad == other.requires_grad


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, 2), (1, True), (1, 1.0), (0.0, -0.0), (0, False), (None, 0), ("a", "b"), ("a", b"a"),
        (math.nan, 1.0), ((1, 2), (1, 2.0)), ([1], [1, 2]), ([1], [2]), ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 2}), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({1: 1}, {1.0: 1}),
        (range(2), range(3)), (1j, 2j), (torch.float32, torch.float64), ([1], (1,)),
    ],
)  # fmt: skip
def test_another_constant_is_captured_anew(first: Any, second: Any) -> None:
    def f(x: torch.Tensor, value: Any) -> Any:
        if type(value) is dict:
            return x + 1, [*value], [*value.values()]
        if type(value) in (list, tuple):
            return x + 1, [*value]
        return x + 1, (value,)

    captured = Captured(f)
    for value in (first, second, first, second):
        _, got = captured.call(torch.ones(3), value)[:2]
        assert repr(got) == repr(f(torch.ones(3), value)[1])
    assert captured.count == 2


def test_the_same_nan_is_not_captured_anew() -> None:
    def f(x: torch.Tensor, value: float) -> Any:
        return x * value

    captured = Captured(f)
    for _ in range(3):
        captured.call(torch.ones(3), float("nan"))
    assert captured.count == 1


def test_grad_mode_is_noticed() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    captured = Captured(f)
    x = torch.ones(3, requires_grad=True)
    assert captured.call(x).requires_grad
    with torch.no_grad():
        assert not captured.call(x).requires_grad
    assert captured.count == 2


def test_deterministic_algorithms_and_default_dtype_are_noticed() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + torch.ones(3)

    captured = Captured(f)
    captured.call(torch.ones(3))
    torch.use_deterministic_algorithms(True)
    try:
        captured.call(torch.ones(3))
    finally:
        torch.use_deterministic_algorithms(False)
    torch.set_default_dtype(torch.float64)
    try:
        assert captured.call(torch.ones(3)).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert captured.count == 3


FACTOR = 2


def test_a_global_variable_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * FACTOR

    captured = Captured(f)
    captured.call(torch.ones(3))
    monkeypatch.setitem(f.__globals__, "FACTOR", 3)
    assert captured.call(torch.ones(3)).tolist() == [3.0] * 3
    assert captured.count == 2


def test_a_global_that_hides_a_builtin_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor, items: list[int]) -> torch.Tensor:
        return x * len(items)

    captured = Captured(f)
    captured.call(torch.ones(3), [1, 2])
    monkeypatch.setitem(f.__globals__, "len", lambda items: 7)
    assert captured.call(torch.ones(3), [1, 2]).tolist() == [7.0] * 3


def test_closures_defaults_and_code_of_functions_are_noticed() -> None:
    amount = 1

    def helper(x: torch.Tensor, by: int = 10) -> torch.Tensor:
        return x + amount + by

    def f(x: torch.Tensor) -> torch.Tensor:
        return helper(x)

    captured = Captured(f)
    assert captured.call(torch.zeros(1)).item() == 11
    amount = 2
    assert captured.call(torch.zeros(1)).item() == 12
    helper.__defaults__ = (20,)
    assert captured.call(torch.zeros(1)).item() == 22
    helper.__code__ = (lambda x, by=0: x - amount).__code__
    assert captured.call(torch.zeros(1)).item() == -2
    assert captured.count == 4


class Thing:
    scale = 2

    def __init__(self) -> None:
        self.offset = 1

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + self.offset


def test_attributes_of_objects_and_classes_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor, thing: Thing) -> torch.Tensor:
        return thing.apply(x)

    captured, one = Captured(f), torch.ones(1)
    thing, other = Thing(), Thing()
    assert captured.call(one, thing).item() == 3
    assert captured.call(one, other).item() == 3  # another object, but nothing else
    assert captured.count == 1
    other.offset = 5
    assert captured.call(one, other).item() == 7
    monkeypatch.setattr(Thing, "scale", 3)
    assert captured.call(one, thing).item() == 4
    thing.scale = 10  # hides the class's
    assert captured.call(one, thing).item() == 11
    thing.apply = lambda x: x - 1  # type: ignore[method-assign]  # replaced
    assert captured.call(one, thing).item() == 0
    monkeypatch.setattr(Thing, "apply", lambda self, x: x * 100)
    assert captured.call(one, other).item() == 100


def test_what_a_program_does_not_look_at_is_not_guarded() -> None:
    def f(x: torch.Tensor, unused: Any, items: list[Any]) -> torch.Tensor:
        return x + items[0]

    captured = Captured(f)
    captured.call(torch.ones(1), 1, [1, 2])
    captured.call(torch.ones(1), "other", [1, object()])
    assert captured.count == 1


def test_aliases_are_told_apart_where_they_matter() -> None:
    def f(a: list[Any], b: list[Any], x: torch.Tensor) -> int:
        a.append(x + 1)
        return len(b)

    captured = Captured(f)
    assert captured.call([], [], torch.ones(1)) == 0
    shared: list[Any] = []
    assert captured.call(shared, shared, torch.ones(1)) == 1
    assert len(shared) == 1
    assert captured.call([], [], torch.ones(1)) == 0


def test_tensors_that_are_one_and_tensors_that_are_two() -> None:
    def f(a: torch.Tensor, b: torch.Tensor) -> Any:
        return a is b, a.add_(1) + b

    captured = Captured(f)
    for _ in range(2):
        same = torch.zeros(1)
        assert captured.call(same, same)[0] is True
        assert captured.call(same, same)[1].item() == 4
        is_same, total = captured.call(torch.zeros(1), torch.zeros(1))
        assert is_same is False
        assert total.item() == 1


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + 1


def test_one_entry_serves_all_modules_that_are_alike() -> None:
    x = torch.ones(2, 4)

    def main() -> weakref.ref[Model]:
        for _ in range(3):
            model = Model()
            assert torch.equal(native.optimize(run_graph)(model)(x), model(x))
        return weakref.ref(model)

    model = main()
    gc.collect()
    assert model() is None
    (entry,) = entries(Model.forward)
    assert isinstance(entry, GuardedCode)
    other = Model()
    other.linear = nn.Linear(4, 4, bias=False)
    assert torch.equal(native.optimize(run_graph)(other)(x), other(x))
    assert len(entries(Model.forward)) == 2


def test_modules_are_told_apart_where_that_matters() -> None:
    first, second = Model(), Model()
    known: dict[Model, str] = {}

    @native.optimize(run_graph)
    def asked(a: Model, b: Model, x: torch.Tensor) -> tuple[torch.Tensor, bool, object]:
        return x + len({a, b}), a is b, known.get(b)

    known[second] = "second"
    for a, b in ((first, second), (first, first), (second, first), (Model(), second)):
        x, same, found = asked(a, b, torch.zeros(1))
        assert (x.item(), same, found) == (len({a, b}), a is b, known.get(b))


def test_modules_training_hooks_and_parameters_are_noticed() -> None:
    model = Model()
    call = native.optimize(run_graph)(model)
    x = torch.ones(2, 4)
    call(x)
    model.linear.register_forward_hook(lambda module, args, output: output * 0)
    assert call(x).tolist() == model(x).tolist() == [[1.0] * 4] * 2
    model.linear._forward_hooks.clear()
    model.linear = nn.Linear(4, 4)
    assert torch.equal(call(x), model(x))
    model.linear.weight = nn.Parameter(torch.zeros(4, 4))
    assert torch.equal(call(x), model(x))
    before = len(entries(Model.forward))
    call(x)
    assert len(entries(Model.forward)) == before
    model.eval()
    call(x)
    assert len(entries(Model.forward)) == before + 1


def test_the_limit_ends_capturing(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def f(x: torch.Tensor, text: str) -> torch.Tensor:
        return x + len(text)

    monkeypatch.setattr(config, "cache_size_limit", 2)
    captured = Captured(f)
    for n in range(5):
        assert captured.call(torch.zeros(1), "a" * n).item() == n
    assert captured.count == 2
    assert "cache_size_limit" in caplog.text


def test_backends_have_entries_of_their_own() -> None:
    called: list[str] = []

    def backend(name: str) -> Callable[..., Any]:
        def compiler(gm: Any, example_inputs: Any) -> Any:
            def run(*args: Any) -> Any:
                called.append(name)
                return gm.forward(*args)

            return run

        return compiler

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    one, two = native.optimize(backend("one"))(f), native.optimize(backend("two"))(f)
    one(torch.ones(1)), two(torch.ones(1)), one(torch.ones(1))
    assert called == ["one", "two", "one"]
    assert len(entries(f)) == 2
    native.run(f)(torch.ones(1))
    assert len(entries(f)) == 2
    assert len(called) == 4


def test_reset_forgets() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    captured = Captured(f)
    captured.call(torch.ones(1))
    (entry,) = entries(f)
    native.reset()
    assert not entry.valid
    assert captured.count == 0


def test_a_check_is_readable_and_never_raises() -> None:
    def f(x: Any, items: Any) -> Any:
        return x + items[0]

    captured = Captured(f)
    captured.call(torch.ones(3), [torch.ones(3)])
    (source,) = native.export_guards(f)
    for line in (
        "___guarded_code.valid",
        "___check_global_state()",
        "hasattr(L['x'], '_dynamo_dynamic_indices') == False",
        "utils_device.CURRENT_DEVICE == None",
        "___skip_backend_check() or ___current_backend() == ___lookup_backend(",
        "len(L['items']) == 1",
        "___check_tensors(L['x'], L['items'][0])",
    ):
        assert line in source
    (entry,) = entries(f)
    for wrong in ({}, {"x": None, "items": types.SimpleNamespace()}, {"x": 1, "items": 1}):
        assert not entry.check(wrong, f.__globals__)


def test_functions_that_are_made_anew_are_known_by_their_code() -> None:
    """And by their cells, which they may share; told apart where the program does it."""

    def applied(x: Any, function: Any, other: Any) -> Any:
        return function(x) + other(x)

    def asked(x: Any, function: Any, other: Any) -> Any:
        return function(x) if function is other else other(x) - 1

    def made(by: Any, shared: bool) -> tuple[Any, Any]:
        three = 3

        def adds(x: Any, times: int = 2) -> Any:
            nonlocal by
            by = by + 1
            return x + by * times

        def plain(x: Any) -> Any:
            return x * by if shared else x * three

        return adds, plain

    x = torch.ones(2)
    captured = Captured(applied)
    for _ in range(4):
        captured.call(x, *made(1, False))
    assert captured.count == 1
    for function in (applied, asked):
        call = native.optimize(run_graph)(function)
        for by, shared, last in ((1, False, 1), (1, False, 0), (x, True, 1), (1, True, 1)):
            pairs = made(by, shared), made(by, shared)
            got, expected = ((pair[0], pair[last]) for pair in pairs)
            assert torch.equal(call(x, *got), function(x, *expected))


def test_a_reset_forgets_which_functions_were_told_apart() -> None:
    def made() -> Any:
        return lambda x: x + 1

    def asked(x: Any, function: Any, other: Any) -> Any:
        return x if function is other else function(x)

    def applied(x: Any, function: Any) -> Any:
        return function(x)

    x = torch.ones(2)
    native.optimize(run_graph)(asked)(x, made(), made())
    counts = []
    for _ in range(2):
        captured = Captured(applied)
        kept = [made() for _ in range(3)]
        for function in kept:
            captured.call(x, function)
        counts.append(captured.count)
        native.reset()
    assert counts == [3, 1]


def test_an_exception_that_the_caller_handles_is_seen() -> None:
    def handled(x: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return x + 1, sys.exc_info()[0]

    call = native.optimize(run_graph)(handled)
    assert call(torch.ones(2))[1] is None
    try:
        raise ValueError
    except ValueError:
        assert call(torch.ones(2))[1] is ValueError
