"""Sets and frozensets, their order included."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.engines.native.harness import check

pytestmark = pytest.mark.evaluator_out


def made(x: Any) -> Any:
    seen = {1, 9, 17, 33}
    seen.add(65)
    seen.discard(9)
    seen.update([2])
    for n in seen:
        x = x * n + len(seen)
    return x, list(seen), seen, 9 in seen, sorted({"b", "a"})


def combined(x: Any) -> Any:
    a, b = {8, 16, 3}, {n * 8 for n in range(5)}
    return x + len(a | b), a | b, a & b, a - b, a ^ b, [*(a | b)], a <= b, a.isdisjoint(b)


def raises(x: Any) -> Any:
    found = set(range(1, 3))
    try:
        found.remove(5)
    except KeyError as error:
        x = x + error.args[0]
    return x, found


def changed(x: Any, given: set[int]) -> Any:
    given.add(40)
    given.discard(1)
    return x + len(given), given, 40 in given


def gone_through(x: Any, given: set[int]) -> Any:
    for n in given:
        x = x * n
    return -x, given | {5}, {5} - given


@pytest.mark.parametrize("function", [made, combined, raises])
def test_a_new_set_is_captured(function: Any) -> None:
    explanation = check(function, torch.ones(3))
    assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)


@pytest.mark.parametrize("function", [changed, gone_through])
@pytest.mark.parametrize("given", [set(), {1, 2, 3}, {64, 8, 16}])
def test_a_set_that_existed_is_captured(function: Any, given: set[int]) -> None:
    explanation = check(function, torch.ones(3), given)
    assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)


def test_a_frozenset_stays_the_same_object() -> None:
    from stepper import native
    from tests.engines.native.harness import run_graph

    def ask(x: Any, given: frozenset[int]) -> Any:
        return x + len(given), given

    given = frozenset({3, 4})
    assert native.optimize(run_graph)(ask)(torch.ones(2), given)[1] is given
