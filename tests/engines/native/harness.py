"""Runs a program with and without the engine, and compares all that it did."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import random
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy
import torch

from stepper import native
from stepper.native.explanation import Explanation
from stepper.native.watching import WATCHING


def run_graph(gm: Any, example_inputs: list[Any]) -> Any:
    """A backend that runs the graph as it is."""
    return gm.forward


@contextlib.contextmanager
def untagged_modules() -> Iterator[None]:
    """`Module.__init__` as it was before Dynamo. Once that has compiled something, each module that
    is made is tagged, and what does that is not captured: what a test sees would depend on the
    tests before it."""
    tagging = torch.nn.Module.__init__
    init = inspect.getclosurevars(tagging).nonlocals.get("init", tagging)
    with mock.patch.object(torch.nn.Module, "__init__", init):
        yield


def outcome(
    function: Callable[..., Any], args: Any, namespace: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What a call gave, raised and printed, and what it made of its arguments and of the names in
    `namespace`, which are put back."""
    before = dict(namespace or {})
    printed = io.StringIO()
    found: dict[str, Any] = {"raised": None, "result": None}
    random.seed(0)
    with contextlib.redirect_stdout(printed):
        try:
            found["result"] = function(*args)
        except Exception as error:
            found["raised"] = type(error), str(error)
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)]
            found["line"] = lines[-1]
    found["printed"] = printed.getvalue()
    found["drawn next"] = random.random()
    found["arguments"] = args
    found["namespace"] = {
        key: value for key, value in (namespace or {}).items() if type(value) is int
    }
    if namespace is not None:
        namespace.update(before)
    return found


_NOTHING: dict[Any, Any] = {}
_VIEWS = type(_NOTHING.keys()), type(_NOTHING.values()), type(_NOTHING.items())


def same(a: Any, b: Any) -> bool:
    """Whether nobody can tell two values apart."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        facts = ("dtype", "requires_grad", "shape")
        return all(getattr(a, fact) == getattr(b, fact) for fact in facts) and bool(
            torch.allclose(a, b, equal_nan=True) if a.is_floating_point() else torch.equal(a, b)
        )
    if isinstance(a, numpy.ndarray):
        facts = ("dtype", "shape", "strides")
        return all(getattr(a, fact) == getattr(b, fact) for fact in facts) and bool(
            a.tobytes() == b.tobytes()
        )
    if isinstance(a, list | tuple | deque):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, _VIEWS):
        return same([*a], [*b])
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, set | frozenset) and set(a) != set(b):
        return False
    if callable(a) and not isinstance(a, type):
        return True
    if hasattr(a, "__dict__") and type(a).__module__.startswith(("tests.", "transformers.cache")):
        return same(vars(a), vars(b))
    if slots := getattr(type(a), "__slots__", None):
        return all(same(getattr(a, name, ...), getattr(b, name, ...)) for name in slots)
    return bool(a == b)


def check(
    function: Callable[..., Any],
    *args: Any,
    times: int = 3,
    namespace: dict[str, Any] | None = None,
) -> Explanation:
    """Assert that captured calls do what the function does; what was captured."""
    expected_args = copy.deepcopy(args)
    expected = outcome(function, expected_args, namespace)
    captured = native.optimize(run_graph)(function)
    before = WATCHING.explanation
    explanation = WATCHING.explanation = Explanation()
    try:
        for time in range(times):
            got = outcome(captured, copy.deepcopy(args), namespace)
            for key, value in expected.items():
                assert same(value, got[key]), (
                    f"{key} differs at call {time}: {value!r} became {got[key]!r}\n{explanation}"
                )
    finally:
        WATCHING.explanation = before
    in_vain = [each for each in explanation.skips if each[1].endswith("cannot be watched")]
    assert in_vain == []  # a graph was made, and no entry
    return explanation
