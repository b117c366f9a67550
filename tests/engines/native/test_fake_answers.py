"""What a fake tensor, or a graph's module, is and does beside computing is not the program's."""

from __future__ import annotations

import contextlib
import types
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

_DIFFERS_BY_OBJECT = ("_use_count", "__getstate__", "const_data_ptr", "data_ptr", "__reduce_ex__")


def test_what_a_fake_tensor_says_of_itself_is_no_result() -> None:
    """Each method of tensors without arguments, as far as what it gives is no tensor."""
    given = torch.arange(4.0)[1:]
    asked = []
    for name in dir(torch.Tensor):
        method = getattr(torch.Tensor, name)
        if not callable(method) or isinstance(method, type) or name in _DIFFERS_BY_OBJECT:
            continue

        def ask(x: torch.Tensor, name: str = name) -> Any:
            return x + 1, getattr(x, name)()

        try:
            answer = method(given)
        except Exception:
            continue
        if isinstance(answer, bool | int | float | str | torch.Size | torch.dtype | torch.device):
            asked.append(name)
            program = types.FunctionType(
                ask.__code__.replace(), {"getattr": getattr}, "ask", (name,)
            )
            assert native.optimize(run_graph)(program)(given)[1] == program(given)[1], name
    assert {"__str__", "__sizeof__", "dim", "storage_offset", "is_conj"} <= {*asked}


@pytest.mark.skipif(not hasattr(torch.Tensor, "const_data_ptr"), reason="not in this torch")
def test_where_its_data_is_a_tensor_says_itself() -> None:
    def ask(x: Any) -> Any:
        return x + 1, x.const_data_ptr()

    for given in (torch.ones(3), torch.zeros(3)):
        assert native.optimize(run_graph)(ask)(given)[1] == given.data_ptr()


def test_hooks_for_all_modules_are_not_called_with_a_graph() -> None:
    called = []
    captured = native.optimize(lambda gm, inputs: gm)(lambda x: x + 1)
    captured(torch.ones(3))
    hook = torch.nn.modules.module.register_module_forward_hook(lambda *args: called.append(args))
    with contextlib.closing(SimpleNamespace(close=hook.remove)):
        captured(torch.ones(3))
        captured(torch.ones(2, 3))
    assert called == []


def test_what_gives_no_tensor_is_told_by_its_name() -> None:
    def converted(x: torch.Tensor) -> torch.Tensor:
        return x + torch.cudnn_is_acceptable(x)

    explanation = native.explain(converted)(torch.ones(1))
    assert "cudnn_is_acceptable, which gives a bool and no tensor" in str(explanation)
