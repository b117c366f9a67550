"""`stepper.native`, and the functions it offers."""

from __future__ import annotations

import copy
import threading
import traceback
from typing import Any

import pytest
import torch
from torch import nn

from stepper import _C, native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out


def entries(function: Any) -> int:
    return len(_C.code_cache(function.__code__).entries)


def test_optimize_is_a_context_too() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    with native.optimize(run_graph):
        f(torch.ones(1))
    assert entries(f) == 1


def test_a_module_stays_a_module() -> None:
    model = native.compile(nn.Linear(2, 3), backend="eager")
    assert isinstance(model, nn.Module)
    assert model.weight.shape == (3, 2)
    assert model(torch.ones(1, 2)).shape == (1, 3)
    changed: Any = model
    changed.extra = 5
    assert changed._orig_mod.extra == 5


def test_fullgraph_says_where_the_graph_breaks() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        print("here")
        return y

    with pytest.raises(native.Unsupported, match=r"a call of builtin print\n.*test_faces.py:\d+"):
        native.compile(f, backend="eager", fullgraph=True)(torch.ones(1))


def test_disable_and_skip() -> None:
    @native.disable
    def whole(x: torch.Tensor) -> torch.Tensor:
        return inner(x) + 1

    def inner(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @native.skip
    def itself(x: torch.Tensor) -> torch.Tensor:
        return inner(x) + 1

    def f(x: torch.Tensor) -> torch.Tensor:
        return whole(x) * 2

    def g(x: torch.Tensor) -> torch.Tensor:
        return itself(x) * 2

    check(f, torch.ones(2))
    assert entries(inner) == 0
    check(g, torch.ones(2))
    assert entries(inner) == 1
    assert entries(itself) == 0


def test_graph_break_allow_and_disallow() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        native.graph_break()
        return y * 2

    explanation = check(broken, torch.ones(2))
    assert [reason for _, _, reason in explanation.breaks] == ["graph_break() was called"]
    assert explanation.graph_count == 2

    def opaque(x: torch.Tensor) -> torch.Tensor:
        return torch.tensor(x.tolist()) if x.device.type == "cpu" and type(x) is torch.Tensor else x

    def calls(x: torch.Tensor) -> torch.Tensor:
        return opaque(x) + 1

    native.allow_in_graph(opaque)
    assert check(calls, torch.ones(2)).graph_count == 1

    def sine(x: torch.Tensor) -> torch.Tensor:
        return (x + 1).sin() + torch.cos(x)

    native.disallow_in_graph(torch.cos)
    try:
        assert check(sine, torch.ones(2)).breaks
    finally:
        native.allow_in_graph(torch.cos)
        native.disallow_in_graph(torch.cos)
        from stepper.native.variables import torch as torch_functions

        torch_functions._disallowed.discard(torch.cos)


def test_a_traceback_points_at_the_programs_line() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        z = y.reshape(5)  # here
        return z * 2

    def g(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        y = x + 1
        z = y[i]  # here
        return z * 2

    for function, args in ((f, (torch.ones(2),)), (g, (torch.ones(2), torch.tensor([7])))):
        with pytest.raises((RuntimeError, IndexError)) as caught:
            native.optimize(run_graph)(function)(*args)
        last = [
            frame
            for frame in traceback.extract_tb(caught.value.__traceback__)
            if frame.filename == __file__
        ][-1]
        assert last.line is not None
        assert last.line.endswith("# here")


def test_a_defect_of_the_translator_is_reported_and_harmless(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(native.config, "raise_internal_errors", False)
    monkeypatch.setattr(
        "stepper.native.tracing.symbolic_convert.InstructionTranslator.BINARY_OP",
        lambda self, inst: 1 // 0,
    )

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert native.optimize(run_graph)(f)(torch.ones(1)).item() == 2
    assert "ZeroDivisionError" in caplog.text
    assert entries(f) == 0


def test_threads_share_what_was_captured() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1

    captured = native.optimize(run_graph)(f)
    results: list[float] = []

    def work() -> None:
        results.extend(captured(torch.full((1,), float(n))).item() for n in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted([2.0 * n + 1 for n in range(50)] * 4)


def test_recursion() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x if n == 0 else f(x + 1, n - 1)

    check(f, torch.zeros(1), 5)
    check(f, torch.zeros(1), 100)


def test_a_frame_that_is_given_up_is_not_translated_again() -> None:
    def f(x: torch.Tensor, flag: Any) -> torch.Tensor:
        try:
            raise ValueError
        except ValueError:
            print(end="")
            x = x + 1
        return x

    explanation = check(f, torch.ones(1), True, times=5)
    assert len(explanation.skips) == 1, str(explanation)
    assert len(explanation.breaks) == 1

    strict = native.optimize(run_graph, nopython=True)(f)
    native.reset()
    for _ in range(3):
        with pytest.raises(native.Unsupported):
            strict(torch.ones(1), True)


def test_what_follows_a_break_at_the_beginning_is_captured() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        print("begin")
        return x + 1

    explanation = check(f, torch.ones(1))
    assert (explanation.graph_count, explanation.graph_break_count) == (1, 1)
    assert not explanation.skips


def test_a_copy_of_a_compiled_module_computes_with_its_own_parameters() -> None:
    model = native.compile(nn.Linear(2, 2), backend="eager")
    copied: Any = copy.deepcopy(model)
    x = torch.ones(1, 2)
    before = model(x)
    with torch.no_grad():
        for parameter in copied.parameters():
            parameter.zero_()
    assert torch.equal(copied(x), torch.zeros(1, 2))
    assert torch.equal(model(x), before)


def test_a_module_and_what_was_compiled_of_it_train_or_evaluate_together() -> None:
    module = nn.Sequential(nn.Dropout())
    model = native.compile(module, backend="eager")
    module.eval()
    assert not model.training
    model.train()
    assert module.training
    assert module[0].training
    assert len(model) == 1


def test_a_tensor_that_is_made_to_require_gradients_does_with_any_backend() -> None:
    def f(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        leaf = torch.ones(2, requires_grad=True)
        return leaf, leaf * x

    leaf, out = native.compile(f, backend="aot_eager")(torch.full((2,), 3.0))
    out.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [3.0, 3.0]
