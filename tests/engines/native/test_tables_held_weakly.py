"""Tables that hold things weakly, looked into before and after the frame lets go of these: the
program sees at once what has gone, and transformed code lets go at its end only."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

Given = tuple[Any, Any]


class Thing:
    """What is held weakly."""


class Holder:
    """Has one, or a table."""

    def __init__(self, held: Any) -> None:
        self.held = held


def by_name(count: int = 1) -> Given:
    things = [Thing() for _ in range(count)]
    named = {str(place): thing for place, thing in enumerate(things)}
    return things, weakref.WeakValueDictionary(named)


def by_thing(count: int = 1) -> Given:
    things = [Thing() for _ in range(count)]
    return things, weakref.WeakKeyDictionary(dict.fromkeys(things, 3))


def in_a_set() -> Given:
    things = [Thing()]
    return things, weakref.WeakSet(things)


def many_by_name() -> Given:
    return by_name(40)


def many_by_thing() -> Given:
    return by_thing(40)


TABLES = [by_name, by_thing, in_a_set, many_by_name, many_by_thing]


def cleared(things: Any, table: Any) -> Any:
    before = len(table)
    things.clear()
    return before, len(table), [*table]


def sliced_away(things: Any, table: Any) -> Any:
    before = len(table)
    things[:] = [1]
    return before, len(table)


def deleted(things: Any, table: Any) -> Any:
    before = len(table)
    del things[0]
    return before, len(table)


def replaced(things: Any, table: Any) -> Any:
    before = len(table)
    things[0] = None
    return before, len(table)


def popped_before(things: Any, table: Any) -> Any:
    things.pop()
    return len(table)


def popped_and_kept_for_a_while(things: Any, table: Any) -> Any:
    kept = things.pop()
    before = len(table)
    del kept
    return before, len(table)


def popped_by_another_function(things: Any, table: Any) -> Any:
    def pop() -> Any:
        return things.pop()

    pop()
    return len(table)


def held_by_a_loop(things: Any, table: Any) -> Any:
    each, count = None, 0
    for each in things:
        count += each is not None
    before = len(table), count
    things.clear()
    kept = len(table), each is None
    each = None
    return before, kept, len(table)


def held_by_an_object(things: Any, table: Any) -> Any:
    holder = Holder(things[0])
    things.clear()
    before = len(table)
    holder.held = None
    return before, len(table)


def in_another_object(things: Any, table: Any) -> Any:
    holder = Holder(table)
    before = len(holder.held)
    things.clear()
    return before, len(holder.held)


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    cleared, sliced_away, deleted, replaced, popped_before, popped_and_kept_for_a_while,
    popped_by_another_function, held_by_a_loop, held_by_an_object, in_another_object,
]  # fmt: skip


def told(function: Any, make: Callable[[], Given]) -> list[str]:
    """What it says of two pairs of things and a table."""
    return [str(function(torch.ones(1), *make())[1]) for _ in range(2)]


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_let_go_is_gone_from_a_table(program: Any, make: Callable[[], Given]) -> None:
    def asked(x: torch.Tensor, things: Any, table: Any) -> Any:
        return x + 1, program(things, table)

    assert told(native.optimize(run_graph)(asked), make) == told(asked, make)


def adds_one_for_a_while(x: torch.Tensor, table: Any) -> Any:
    kept = Thing()
    if isinstance(table, weakref.WeakSet):
        table.add(kept)
    else:
        table["for a while"] = kept
    before = len(table)
    del kept
    return x + 1, before, len(table)


@pytest.mark.parametrize("make", [by_name, in_a_set])
def test_what_is_added_for_a_while_is_gone_again(make: Callable[[], Given]) -> None:
    for function in (adds_one_for_a_while, native.optimize(run_graph)(adds_one_for_a_while)):
        things, table = make()
        assert function(torch.ones(1), table)[1:] == (2, 1)
        assert len(things) == 1


def looked_into(x: torch.Tensor, things: Any, table: Any) -> Any:
    return x * len(table), things[0] in table


def test_what_lets_nothing_go_is_one_graph() -> None:
    things, table = by_thing()
    found = native.optimize(run_graph, nopython=True)(looked_into)(torch.ones(1), things, table)
    assert found[1] is True
