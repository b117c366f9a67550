"""What containers of `collections` hold, and objects that are containers by inheritance, is what it
is in eager: read, changed by captured code, and changed behind its back."""

from __future__ import annotations

import collections
import copy
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

X = torch.arange(3.0)


class Row(list):  # type: ignore[type-arg]  # of anything
    def append(self, item: Any) -> None:
        super().append(item)
        self.last = item


class Table(dict):  # type: ignore[type-arg]  # of anything
    def __missing__(self, key: Any) -> Any:
        self[key] = 7
        return 8


def counts(x: torch.Tensor, held: Any) -> Any:
    held["a"] += 1
    held.update(["b", "c"])
    return x * held["a"] + held["none"] + len(held)


def reorders(x: torch.Tensor, held: Any) -> Any:
    held["z"] = x
    held.move_to_end("a")
    del held["b"]
    return x + len(list(held)), held.popitem()


def misses(x: torch.Tensor, held: Any) -> Any:
    held["q"].append(x + 1)
    return held["q"][0] + len(held["r"]) + len(held)


def queues(x: torch.Tensor, held: Any) -> Any:
    held.append(x)
    held.appendleft(x + 1)
    held.extend([1, 2])
    held.rotate(1)
    return x * len(held) + held[0] + held.pop() + held.popleft(), held.maxlen


def extends(x: torch.Tensor, held: Any) -> Any:
    held.append(4)
    held.append(5)
    del held[0]
    return x * held.last + held[0]


def looks_up(x: torch.Tensor, held: Any) -> Any:
    return x * held["n"] + held["n"] + len(held)


CASES: list[tuple[Callable[..., Any], Any, Callable[[Any], Any]]] = [
    (counts, Counter("aab"), lambda held: held.update("ab")),
    (reorders, OrderedDict(a=1, b=2, c=3), lambda held: held.update(b=2, a=1)),
    (reorders, OrderedDict(a=1, b=2, c=3), lambda held: held.update(a=X, b=4)),
    (misses, defaultdict(list), lambda held: held["r"].append(1)),
    (misses, defaultdict(list, q=[X]), lambda held: held.pop("q")),
    (queues, deque([1, 2, 3]), lambda held: held.append(4)),
    (queues, deque([1, 2, 3]), lambda held: held.__setitem__(-1, 9)),
    (extends, Row([1, 2]), lambda held: held.insert(1, 6)),
    (looks_up, Table(a=1), lambda held: held.update(n=2)),
]


@pytest.mark.parametrize(("function", "held", "change"), CASES)
def test_it_is_eager_s_once_more_and_after_a_change(
    function: Callable[..., Any], held: Any, change: Callable[[Any], Any]
) -> None:
    captured = native.optimize(run_graph, nopython=True)(function)
    expected, given = copy.deepcopy(held), copy.deepcopy(held)
    for _ in range(3):
        _same(captured(X, given), function(X, expected))
        _same(given, expected)
        change(given)
        change(expected)
        assert str(getattr(given, "__dict__", "")) == str(getattr(expected, "__dict__", ""))


def _same(given: Any, expected: Any) -> None:
    assert type(given) is type(expected)
    if isinstance(given, torch.Tensor):
        assert torch.equal(given, expected)
    elif isinstance(given, dict):
        _same(list(given.items()), list(expected.items()))
    elif isinstance(given, tuple | list | deque):
        assert len(given) == len(expected)
        for one, other in zip(given, expected, strict=True):
            _same(one, other)
    else:
        assert given == expected


def test_a_length_is_kept_to_and_another_one_is_another_capture() -> None:
    def adds(x: torch.Tensor, held: Any) -> Any:
        held.append(x)
        return x + len(held)

    captured = native.optimize(run_graph, nopython=True)(adds)
    for most in (2, None, 3):
        given, expected = deque([1, 2], most), deque([1, 2], most)
        _same(captured(X, given), adds(X, expected))
        _same(given, expected)


def made(x: torch.Tensor) -> Any:
    queue = deque([x, x + 1], maxlen=2)
    queue.append(x + 2)
    groups: Any = defaultdict(lambda: x * 2)
    groups["a"]
    counted = Counter("hello")
    return queue, queue.maxlen, groups, groups["b"], counted, counted.most_common(1)


def test_what_is_made_is_what_eager_makes() -> None:
    given, expected = native.optimize(run_graph)(made)(X), made(X)
    _same(given, expected)
    assert given[0].maxlen == 2
    assert torch.equal(given[2]["new"], X * 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, held: (held.append(x) for _ in held),
        lambda x, held: [held.append(x) for each in held],
        lambda x, held: held[7] + x,
        lambda x, held: held.clear() or held.pop(),
        lambda x, held: held.remove(9),
    ],
)
def test_errors_are_the_program_s(function: Callable[..., Any]) -> None:
    def outcome(called: Callable[..., Any]) -> Any:
        held = collections.deque([1, 2])
        try:
            return list(called(X, held) or []), held
        except (IndexError, RuntimeError, ValueError) as error:
            return type(error), str(error), held

    assert str(outcome(native.optimize(run_graph)(function))) == str(outcome(function))
