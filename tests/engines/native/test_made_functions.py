"""Functions that captured code makes, of which one holds the other."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import sys
import types
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


ELSEWHERE = """
K = 3

def scaled(by, *, plus: "int" = 2):
    count = 0
    def inner(x, y: "int" = 1, *, z=plus) -> "int":
        "Scales."
        nonlocal count
        count += 1
        return x * by * K + y + z + count
    inner.tag = "t"
    return inner
"""


@pytest.mark.parametrize("imported", [True, False])
def test_a_function_made_by_another_module_lives_on(
    imported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = types.ModuleType("made_elsewhere")
    exec(ELSEWHERE, vars(elsewhere))
    if imported:
        monkeypatch.setitem(sys.modules, elsewhere.__name__, elsewhere)

    def program(x: torch.Tensor) -> Any:
        f = elsewhere.scaled(x, plus=5)
        y = f(x)
        print("between")
        return f, f(y, z=1)

    captured = native.optimize(run_graph)(program)
    for _ in range(2):
        f, given = captured(torch.ones(1))
        expected, wanted = program(torch.ones(1))
        assert given == wanted
        assert f(torch.ones(1)) == expected(torch.ones(1))
        assert f.__globals__ is vars(elsewhere)
        for name in (*_FACTS, "__defaults__", "__code__", "tag"):
            assert getattr(f, name) == getattr(expected, name)


def of_a_transform(x: torch.Tensor) -> Any:
    f = torch.vmap(torch.sin)
    y = f(x)
    print("between")
    return f, f(y)


def of_a_generator(x: torch.Tensor) -> Any:
    def given() -> Any:
        yield x * 2

    f = contextlib.contextmanager(given)
    with f() as y:
        pass
    return f, y


def of_a_decorator_of_a_class(x: torch.Tensor) -> Any:
    @dataclasses.dataclass(kw_only=True)
    class Pair:
        one: Any
        two: int = 2

    pair = Pair(one=x)
    return Pair.__init__, pair.one * pair.two


@pytest.mark.parametrize("program", [of_a_transform, of_a_generator, of_a_decorator_of_a_class])
def test_what_libraries_make_lives_on(program: Callable[..., Any]) -> None:
    graphs: list[Any] = []
    captured = native.optimize(lambda gm, inputs: graphs.append(gm) or gm.forward)(program)
    for _ in range(2):
        f, given = captured(torch.ones(2))
        expected, wanted = program(torch.ones(2))
        assert torch.equal(given, wanted)
        for name in _FACTS:
            assert getattr(f, name) == getattr(expected, name)
    assert graphs
