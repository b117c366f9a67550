"""Functions that captured code makes, of which one holds the other."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out


def returns_functions_that_call_each_other(x: torch.Tensor) -> Any:
    def first(n: int) -> Any:
        return second(n - 1) if n else x + 1

    def second(n: int) -> Any:
        return third(n - 1) if n else x + 2

    def third(n: int) -> Any:
        return first(n - 1) if n else second(0) if n < 0 else x + 3

    def begin(n: int) -> Any:
        return first(n), second(n), third(n)

    return begin, x * 2


@pytest.mark.timeout(600)
def test_functions_that_call_each_other_are_made_once() -> None:
    captured = native.optimize(run_graph)(returns_functions_that_call_each_other)
    for _ in range(2):
        begin, _ = captured(torch.ones(2))
        expected, _ = returns_functions_that_call_each_other(torch.ones(2))
        for n in range(4):
            assert all(map(torch.equal, begin(n), expected(n)))
        cells = dict(zip(begin.__code__.co_freevars, begin.__closure__, strict=True))
        assert cells["first"].cell_contents.__closure__[0].cell_contents is (
            cells["second"].cell_contents
        )


@pytest.mark.timeout(600)
def test_json_is_written_in_captured_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native.config, "capture_everything", True)
    value = {"a": [1, 2.5, None, True], "b": {"c": "text"}}
    assert native.optimize(run_graph)(json.dumps)(value, indent=2) == json.dumps(value, indent=2)
