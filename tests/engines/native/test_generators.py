"""Generators that go on in other generators: `yield from`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tests.engines.native.harness import check

pytestmark = pytest.mark.evaluator_out

X = torch.arange(3.0)


def parts(x: torch.Tensor) -> Iterator[torch.Tensor]:
    yield x + 1
    yield x + 2


def counted(x: torch.Tensor) -> Any:
    yield from parts(x)
    return 2


def nested(x: torch.Tensor) -> list[Any]:
    def outer() -> Any:
        count = yield from counted(x)
        yield x * count
        yield from (x, x - 1)
        yield from range(count)
        nothing = yield from []
        yield nothing

    return list(outer())


def tree(x: torch.Tensor) -> Any:
    def walk(node: Any) -> Any:
        if isinstance(node, tuple):
            for each in node:
                yield from walk(each)
        else:
            yield node

    return sum(walk(((x, 1), (2, (x * 3,))))), [*walk((1, (2, (3,))))]


def from_a_dictionary(x: torch.Tensor) -> Any:
    table = {"a": x, "b": x + 1}

    def items() -> Any:
        yield from table.items()
        yield from table

    return dict(list(items())[:2]), list(items())[2:]


def an_exception_within(x: torch.Tensor) -> Any:
    def inner() -> Any:
        yield x
        raise ValueError("inside")

    def outer() -> Any:
        try:
            yield from inner()
        except ValueError as error:
            text = str(error)
        yield text
        return 5

    def outermost() -> Any:
        yield (yield from outer())

    return list(outermost())


def the_first(x: torch.Tensor) -> Any:
    def outer() -> Any:
        yield from parts(x)

    return next(each * 2 for each in outer()), next(outer())


@pytest.mark.parametrize("f", [nested, tree, from_a_dictionary, an_exception_within, the_first])
def test_they_are_one_graph(f: Callable[..., Any]) -> None:
    found = check(f, X)
    assert found.breaks == [], str(found)


def only_a_part(x: torch.Tensor) -> Any:
    seen = []

    def inner() -> Any:
        try:
            yield x + 1
            yield x + 2
        finally:
            seen.append("left")

    def outer() -> Any:
        yield from inner()

    for each in outer():
        x = x + each
        break
    return x, seen


def only_a_part_around(x: torch.Tensor) -> Any:
    seen = []

    def outer() -> Any:
        try:
            yield from parts(x)
        finally:
            seen.append("left")

    return next(outer()), seen


def thrown_into(x: torch.Tensor) -> Any:
    def inner() -> Any:
        try:
            yield x + 1
        except KeyError:
            yield x + 5

    def outer() -> Any:
        yield from inner()

    generator = outer()
    return next(generator), generator.throw(KeyError("k"))


def in_a_with_block(x: torch.Tensor) -> Any:
    @contextlib.contextmanager
    def inner() -> Any:
        yield x + 1

    def both() -> Any:
        with inner() as y:
            yield y

    @contextlib.contextmanager
    def outer() -> Any:
        yield from both()

    with outer() as y:
        x = y * 2
    return x


def from_what_was_there(x: torch.Tensor) -> Any:
    def outer(given: Any) -> Any:
        yield from given

    return list(outer(iter([x, x + 1])))


class Own:
    def __init__(self, x: torch.Tensor) -> None:
        self.left = [x, x + 1]

    def __iter__(self) -> Own:
        return self

    def __next__(self) -> torch.Tensor:
        if not self.left:
            raise StopIteration("the end")
        return self.left.pop()


def from_an_iterator_of_its_own(x: torch.Tensor) -> Any:
    def outer() -> Any:
        end = yield from Own(x)
        yield end

    return list(outer())


@pytest.mark.parametrize(
    "f",
    [
        only_a_part,
        only_a_part_around,
        thrown_into,
        in_a_with_block,
        from_what_was_there,
        from_an_iterator_of_its_own,
    ],
)
def test_the_others_do_what_they_do_in_eager(f: Callable[..., Any]) -> None:
    check(f, X)
