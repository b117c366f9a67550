"""Functions that captured code makes, of which one holds the other."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
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


def _doubled(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def doubled(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) * 2

    return doubled


def _existing(x: torch.Tensor, more: int = 1) -> torch.Tensor:
    """Text."""
    return x + more


_existing.marks = ["one"]  # type: ignore[attr-defined]  # what decorators do


def wraps_a_function_that_exists(x: torch.Tensor) -> Any:
    made = _doubled(_existing)
    return made, made(x, more=3)


def wraps_a_function_of_its_own(x: torch.Tensor) -> Any:
    def inner(y: torch.Tensor, *, times: int = 2) -> torch.Tensor:
        """More text."""
        return y * times

    inner.marks = inner.__name__  # type: ignore[attr-defined]  # what decorators do
    made = _doubled(inner)
    return made, made(x, times=3)


def wraps_what_has_no_annotations(x: torch.Tensor) -> Any:
    made = _doubled(lambda y: y - 1)
    made.__annotations__["y"] = torch.Tensor
    return made, made(x)


class _Holder:
    def method(self) -> None:
        """Nothing."""


_HOLDER = _Holder()


def gives_a_wrapper_another_name(x: torch.Tensor) -> Any:
    """As what torch 2.15 decorates has the name of the mode."""
    bound: Any = _HOLDER.method
    made = _doubled(_existing)
    name = type(getattr(bound, "__self__", None)).__name__ + bound.__func__.__name__
    made.__code__ = made.__code__.replace(co_name=name, co_qualname="one." + name)
    return made, made(x)


def _is_shared(wrapper: Any, name: str) -> bool:
    return getattr(wrapper, name, None) is getattr(wrapper.__wrapped__, name, None)


_FACTS = ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__", "__kwdefaults__")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "program",
    [
        wraps_a_function_that_exists, wraps_a_function_of_its_own, wraps_what_has_no_annotations,
        gives_a_wrapper_another_name,
    ],
)  # fmt: skip
def test_a_function_that_lives_on_has_what_was_stored_in_it(program: Callable[..., Any]) -> None:
    captured = native.optimize_assert(run_graph)(program)
    for _ in range(2):
        made, result = captured(torch.ones(2))
        expected, right = program(torch.ones(2))
        assert torch.equal(result, right)
        assert torch.equal(made(torch.ones(2)), expected(torch.ones(2)))
        for name in _FACTS:
            assert getattr(made, name) == getattr(expected, name)
            assert getattr(made.__wrapped__, name) == getattr(expected.__wrapped__, name)
        assert made.__code__.co_qualname == expected.__code__.co_qualname
        assert getattr(made, "marks", None) == getattr(expected, "marks", None)
        for name in ("__annotations__", "__annotate__"):  # the second as of Python 3.14
            assert _is_shared(made, name) is _is_shared(expected, name)
