"""Iterators that a frame makes and hands on: they go on where eager's would."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from stepper import native
from stepper.native.explanation import Explanation
from stepper.native.watching import WATCHING
from tests.engines.native.harness import run_graph, same

pytestmark = pytest.mark.evaluator_out

Program = Callable[[torch.Tensor], Any]
WHOLE: list[Program] = []
BROKEN: list[Program] = []
TABLE = [1]


def seen(value: Any) -> Any:
    """A value, with what iterators in it give; of those without end, the beginning."""
    if isinstance(value, tuple | list):
        return [seen(each) for each in value]
    if isinstance(value, Iterator):
        return type(value).__name__, [seen(each) for each in itertools.islice(value, 8)]
    return value


def whole(program: Program) -> Program:
    """It is one graph."""
    WHOLE.append(program)
    return program


def broken(program: Program) -> Program:
    """The graph breaks in it."""
    BROKEN.append(program)
    return program


@whole
def filtered(x: torch.Tensor) -> Any:
    items = [1, 2, 3, 4]
    kept = filter(lambda each: each > 1, items)
    first = next(kept)
    items.append(7)
    return x + first, kept, items, itertools.filterfalse(None, [0, 1])


@whole
def one_below_two_others(x: torch.Tensor) -> Any:
    below = iter([1, 2, 3, 4, 5])
    kept, powers = filter(None, below), itertools.starmap(pow, zip(below, below, strict=False))
    next(kept)
    return x + next(powers), kept, powers, below


@whole
def next_of_several(x: torch.Tensor) -> Any:
    numbers, pairs = iter([1, 2, 3]), enumerate([x, x + 1])
    following, counted = numbers.__next__, pairs.__next__
    found = [following(), following(), next(numbers), counted()]
    try:
        following()
    except StopIteration:
        found.append(pairs.__iter__() is pairs)
    return found, pairs, counted()


@whole
def selected(x: torch.Tensor) -> Any:
    return x + 1, itertools.compress([x, x + 1, x + 2], [1, 0, 1])


@whole
def repeated(x: torch.Tensor) -> Any:
    again = itertools.repeat(x + 1, 4)
    next(again)
    return again, itertools.repeat(3), itertools.repeat(2, 0)


@whole
def counted(x: torch.Tensor) -> Any:
    count = itertools.count(2, 3)
    return x + next(count) * next(count), count


@whole
def sliced(x: torch.Tensor) -> Any:
    part = itertools.islice(range(20), 2, 14, 3)
    below = iter(range(20))
    empty = list(itertools.islice(below, 5, 3))
    return x + next(part), part, empty, below, itertools.islice(below, 1, None)


@whole
def accumulated(x: torch.Tensor) -> Any:
    items: list[Any] = [None, 2, 3]
    both: Any = lambda a, b: (a, b)
    pairs = itertools.accumulate(items, both)
    next(pairs)
    begun = itertools.accumulate([x, x, x])
    return next(begun), begun, pairs, itertools.accumulate([x, x], operator.mul, initial=x + 1)


@whole
def not_begun(x: torch.Tensor) -> Any:
    items = [1, 2, 3, 2, 1]
    return (
        x + 1,
        itertools.pairwise(items),
        itertools.takewhile(lambda each: each < 3, items),
        itertools.dropwhile(lambda each: each < 3, items),
        itertools.cycle(items),
        itertools.chain(items, (x,)),
        itertools.zip_longest(items, [1], fillvalue=x),
        iter(items.pop, 3),
    )


@whole
def strict(x: torch.Tensor) -> Any:
    pairs = zip([1, 2, 3], [x, x + 1, x + 2], strict=True)
    return next(pairs), pairs


@whole
def backwards_in_what_changes(x: torch.Tensor) -> Any:
    items = [1, 2, 3]
    before = reversed(items)
    items.append(4)
    all_before = list(before)
    back = reversed(items)
    next(back)
    items.pop()
    items.pop()
    return x + 1, all_before, back


@whole
def behind_what_is_pending(x: torch.Tensor) -> Any:
    TABLE.extend([2, 3, 4])
    there, back = iter(TABLE), reversed(TABLE)
    return x + next(there) + next(there) + next(there) + next(back), there, back


@whole
def members(x: torch.Tensor) -> Any:
    below = iter([1, 2, 3, 4])
    return x + 1, 2 in below, below, 9 in iter((1, 2)), 7 in itertools.count(1)


@broken
def over_a_break(x: torch.Tensor) -> Any:
    kept, count = filter(lambda each: each > 1, [1, 2, 3]), itertools.count(4)
    y = x + next(kept) + next(count)
    native.graph_break()
    return y + next(kept) + next(count), kept, count


@broken
def taken_up_again(x: torch.Tensor) -> Any:
    items = [1, 2, 3, 4, 5]
    there, numbers, pair = iter(items), iter(range(9)), iter((x, x + 1))
    y = x + next(there) + next(numbers)
    native.graph_break()
    y = y * next(there) + next(pair) + sum(itertools.islice(numbers, 3))
    return y, there, numbers, pair, items


@broken
def over_a_list_that_grows_after_a_break(x: torch.Tensor) -> Any:
    items = [1, 2]
    there, used_up = iter(items), iter(items)
    list(used_up)
    native.graph_break()
    items.append(3)
    y = x + sum(there)
    items.append(4)
    return y, next(there, None), next(used_up, None), items


@broken
def begun_before_another_break(x: torch.Tensor) -> Any:
    numbers = iter(range(9))
    for each in numbers:
        x = x + each
        if each % 3 == 1:
            native.graph_break()
            x = x * next(numbers)
    return x, numbers, next(numbers, "none")


@broken
def over_what_cannot_be_made_again(x: torch.Tensor) -> Any:
    y = x * 2
    links = itertools.chain([1, 2], (3, 4))
    return y + next(links), links, filter(None, (each for each in [1, 0, 2]))


def graphs_of(program: Program) -> int:
    """Assert that a captured program does what the program does; how many graphs it is."""
    x = torch.arange(3.0)
    captured = native.optimize(run_graph)(program)
    before, WATCHING.explanation = WATCHING.explanation, Explanation()
    try:
        for _ in range(2):
            results = []
            for each in (program, captured):
                del TABLE[1:]
                results.append(seen(each(x)))
            assert same(*results), f"{results[0]!r} became {results[1]!r}"
        return WATCHING.explanation.graph_count
    finally:
        WATCHING.explanation = before


@pytest.mark.parametrize("program", WHOLE)
def test_an_iterator_that_is_handed_on_goes_on(program: Program) -> None:
    assert graphs_of(program) == 1
    native.optimize(run_graph, nopython=True)(program)(torch.arange(3.0))


@pytest.mark.parametrize("program", BROKEN)
def test_an_iterator_goes_on_where_the_graph_breaks(program: Program) -> None:
    assert graphs_of(program) > 0


def taken(x: torch.Tensor, there: Iterator[int]) -> Any:
    x = x + next(there)
    native.graph_break()
    return x * next(there, 7)


def taken_in_what_is_called(x: torch.Tensor, there: Iterator[int]) -> Any:
    def first_ones(x: torch.Tensor) -> torch.Tensor:
        for each in there:
            if each > 1:
                break
            x = x + each
        return x

    x = first_ones(x) * 2
    native.graph_break()
    return x, next(there, 0)


def taken_by_handler(x: torch.Tensor, there: Iterator[int]) -> Any:
    while True:
        try:
            each = next(there)
        except StopIteration:
            return x
        x = x + each
        native.graph_break()


@pytest.mark.parametrize("program", [taken, taken_in_what_is_called, taken_by_handler])
@pytest.mark.parametrize("given", [(1, 2, 3), [1, 2], range(4), [5], (0, 1, 2)])
def test_an_iterator_that_was_there_is_as_far_where_the_graph_breaks(
    program: Callable[..., Any], given: Any
) -> None:
    made: list[Any] = []
    captured = native.optimize(lambda gm, _: made.append(gm) or gm.forward)(program)
    for _ in range(2):
        expected, there = iter(given), iter(given)
        result = program(torch.ones(2), expected)
        assert same(captured(torch.ones(2), there), result)
        assert [*there] == [*expected]
    assert made


class Sequence:
    """Has no iterator of its own."""

    def __init__(self) -> None:
        self.items = [1, 2, 3]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> int:
        return self.items[index]


def test_backwards_begins_where_the_end_was() -> None:
    def grows(x: torch.Tensor) -> Any:
        sequence = Sequence()
        back = reversed(sequence)
        sequence.items.append(4)
        return x + 1, list(back)

    assert graphs_of(grows) == 1
