"""Loops over what changes while it is gone through, and loops in which the graph breaks."""

from __future__ import annotations

import array
from typing import Any

import pytest
import torch

from stepper import _C, native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out


def replaces_the_key(x: Any, table: dict[int, int]) -> Any:
    for key in table:
        x = x + key
        del table[0]
        table[0] = 0
    return x


def replaces_the_key_of_an_item(x: Any, table: dict[int, int]) -> Any:
    for key, value in table.items():
        x = x + key + value
        table.pop(0)
        table[0] = 0
    return x


def adds_a_key(x: Any, table: dict[int, int]) -> Any:
    for value in table.values():
        x = x + value
        table[len(table)] = 1
    return x


def adds_an_element(x: Any, table: dict[int, int]) -> Any:
    found = {1}
    for element in found:
        x = x + element
        found.update([4])
    return x


@pytest.mark.parametrize(
    "function", [replaces_the_key, replaces_the_key_of_an_item, adds_a_key, adds_an_element]
)
def test_what_changes_while_it_is_gone_through_raises_as_ever(function: Any) -> None:
    check(function, torch.ones(2), {0: 0})


def sums(x: Any, values: list[Any]) -> Any:
    return x + 1, sum(values), sum(each for each in values), sum(values, values[0])


@pytest.mark.parametrize("values", [[0.1] * 10, [0.1j] * 10, [1, 0.1, 1e100, -1e100]])
def test_numbers_are_summed_as_python_sums_them(values: list[Any]) -> None:
    """Since CPython 3.12 without most of what rounding loses, and with it before."""
    check(sums, torch.ones(2), values)


def iterator_from_before(x: Any, table: dict[int, int]) -> Any:
    table[7] = 1
    keys = iter(table)
    print(end="")
    return x + 1, list(keys)


def iterator_half_way(x: Any, table: dict[int, int]) -> Any:
    keys, elements = iter(table.items()), iter({5, 6, 7})
    first = next(keys), next(elements), next(elements)
    print(end="")
    return x + 1, first, list(keys), list(elements), type(keys), type(elements)


@pytest.mark.parametrize("function", [iterator_from_before, iterator_half_way])
def test_an_iterator_goes_on_after_a_break(function: Any) -> None:
    check(function, torch.ones(2), {0: 0, 1: 2})


def test_values_of_keys_may_change_meanwhile() -> None:
    def f(x: Any, table: dict[int, int]) -> Any:
        for key in table:
            table[key] += 1
            x = x + table[key]
        return x

    explanation = check(f, torch.ones(2), {0: 0, 1: 2})
    assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)


class Noisy:
    """Says when it goes."""

    def __init__(self, told: list[str]) -> None:
        self.told = told

    def __del__(self) -> None:
        self.told.append("gone")


@pytest.mark.parametrize("container", [list, dict])
def test_what_a_container_lets_go_of_goes_at_once(container: type) -> None:
    def f(x: Any) -> Any:
        told: list[str] = []
        held: Any = [Noisy(told)] if container is list else {0: Noisy(told)}
        return inner(x, held, told)

    def inner(x: Any, held: Any, told: list[str]) -> Any:
        held[0] = None
        told.append("next")
        return x + 1, told

    assert f(torch.ones(1))[1] == ["gone", "next"]
    check(f, torch.ones(1))


def prints(x: Any, table: dict[int, int]) -> Any:
    for i in range(6):
        x = x + i
        print(i, x.sum().item() > 3)
    return x


def branches_on_data(x: Any, table: dict[int, int]) -> Any:
    for v in [x, -x, x, -x]:
        x = x + v if v.sum() > 0 else x * 2
    else:
        x = x - 1
    return x


def nested(x: Any, table: dict[int, int]) -> Any:
    for i in range(3):
        for key in table:
            if key + i == 3:
                break
            x = torch.sin(x) + i
            print(i, key)
        x = x + 1
    return x


def of_what_it_does_not_know(x: Any, table: dict[int, int]) -> Any:
    for a in array.array("i", [2, 3]):
        x = x + a
    return x


@pytest.mark.parametrize("function", [prints, branches_on_data, nested, of_what_it_does_not_know])
def test_each_time_round_a_loop_that_broke_is_captured(function: Any) -> None:
    explanation = check(function, torch.ones(2), {0: 0, 1: 2, 2: 4})
    assert explanation.graph_count > 1
    places = {line for _, line, _ in explanation.breaks}
    functions = {code.co_name for code in captured_codes()}
    assert len(places) <= 3, str(explanation)
    assert len(functions) == 1


def captured_codes() -> list[Any]:
    """The codes with entries."""
    return [cache.code for cache in _C.code_caches() if cache.entries]


def test_a_long_loop_makes_few_resume_functions() -> None:
    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x + 1
            print(end="")
        return x

    captured = native.optimize(run_graph)(f)
    assert captured(torch.zeros(1), 500).item() == 500
    counts = [len(_C.code_cache(code).entries) for code in captured_codes()]
    assert len(counts) < 8
    assert sum(counts) < 20


def test_a_loop_without_operations_goes_on_as_it_is() -> None:
    def f(x: Any) -> Any:
        x = x + 1
        for i in range(9):
            print(i)
        return x

    explanation = check(f, torch.ones(1))
    assert len(explanation.breaks) <= 4, str(explanation)
