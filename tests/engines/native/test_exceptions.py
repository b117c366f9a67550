"""Exceptions, `with` blocks and objects of the program's own classes, all within one graph."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out


class Bad(ValueError):
    """An exception of the program's own."""


class Scaled:
    offset = 3

    def __init__(self, tensor: Any, factor: int = 2) -> None:
        self.tensor = tensor
        self.factor = factor

    def total(self) -> Any:
        return self.tensor * self.factor + self.offset

    @property
    def half(self) -> Any:
        return self.tensor / 2

    def __add__(self, other: Any) -> Any:
        return Scaled(self.tensor + other, self.factor)


class Fixed(Scaled):
    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor, 5)
        self.holder = [tensor]


class Block:
    def __init__(self, suppress: bool) -> None:
        self.suppress = suppress
        self.log: list[Any] = []

    def __enter__(self) -> Any:
        self.log.append("in")
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> Any:
        self.log.append(kind)
        return self.suppress


@contextmanager
def scaling(log: list[int]) -> Any:
    log.append(1)
    try:
        yield 5
    finally:
        log.append(2)


def fails(x: Any, n: int) -> Any:
    if n:
        raise Bad("bad", n)
    return x * 2


def catches(x: Any) -> Any:
    out: list[Any] = []
    for n in (0, 1):
        try:
            x = fails(x, n)
        except (KeyError, Bad) as error:
            out += [error.args, type(error)]
        else:
            x = x + 1
        finally:
            out.append(n)
    return x, out


def chains(x: Any) -> Any:
    try:
        try:
            raise Bad
        except Bad as first:
            raise KeyError("k") from first
    except KeyError as error:
        same = error.__cause__ is error.__context__
        return x + 1, str(error), same, error.__suppress_context__


def operations_raise(x: Any) -> Any:
    out = []
    for index in range(5):
        try:
            if index == 0:
                {"a": 1}["b"]
            elif index == 1:
                [1][2]
            elif index == 2:
                (1,)[3]
            elif index == 3:
                index = 1 // 0
            else:
                raise AssertionError("no")
        except (LookupError, ArithmeticError, AssertionError) as error:
            out.append(str(error))
    return x * len(out), out


def ends_an_iterator(x: Any) -> Any:
    iterator = iter([1])
    next(iterator)
    try:
        next(iterator)
    except StopIteration:
        x = x + 1
    return x


def suppresses(x: Any) -> Any:
    with Block(True) as block:
        x = x + 1
        raise ValueError
    with Block(False) as other:
        y = x * 2
    return y, block.log, other.log


def generates_a_context(x: Any) -> Any:
    log: list[int] = []
    with scaling(log) as factor:
        x = x * factor
    return x, log


def makes_objects(x: Any) -> Any:
    first, second = Scaled(x), Fixed(x + 1)
    first.factor += 1
    total = first.total() + second.total() + first.half
    return total, (first + x).total(), isinstance(second, Scaled)


def returns_objects(x: Any) -> Any:
    made = Fixed(x * 2)
    made.alias = made.holder
    return [made, made.alias, made.total()]


@pytest.mark.parametrize(
    "function",
    [
        catches, chains, operations_raise, ends_an_iterator, suppresses, makes_objects,
        returns_objects,
    ],
)  # fmt: skip
def test_it_is_one_graph(function: Any) -> None:
    explanation = check(function, torch.ones(3))
    assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)


def keeps_the_exception(x: Any) -> Any:
    y = x + 1
    try:
        fails(y, 1)
    except Bad as error:
        found = error.__traceback__.tb_next.tb_lineno - error.__traceback__.tb_lineno
    return y, found


def breaks_in_a_handler(x: Any) -> Any:
    y = x + 1
    try:
        fails(y, 1)
    except Bad as error:
        print(error)
        y = y * 2
    return y


def breaks_in_a_block(x: Any) -> Any:
    with Block(True) as block:
        y = x + 1
        print("in")
        y = y * 2
        fails(y, 1)
    return y, block.log


def raises_through(x: Any) -> Any:
    with Block(False):
        try:
            fails(x, 0)
            fails(x + 1, 1)
        finally:
            print("finally")


def leaves_a_generator(x: Any) -> Any:
    def give() -> Any:
        try:
            yield 1
        finally:
            print("closed")

    generator = give()
    x = x + next(generator)
    del generator
    return x


@pytest.mark.parametrize(
    "function",
    [
        keeps_the_exception, breaks_in_a_handler, breaks_in_a_block, raises_through,
        leaves_a_generator, generates_a_context,
    ],
)  # fmt: skip
def test_what_is_not_captured_runs_as_in_eager(function: Any) -> None:
    check(function, torch.ones(3))


def returns_itself(x: Any) -> Any:
    made = Scaled(x)
    made.me = made
    return [made.me is made, made, x + 1]


def test_an_object_that_holds_itself_is_one_object() -> None:
    same, made, _ = native.optimize(run_graph)(returns_itself)(torch.ones(2))
    assert same
    assert made.me is made
    assert list(vars(made)) == ["tensor", "factor", "me"]


class Asking:
    def ask(self) -> Any:
        return super()


def asks_super_of_a_cell(x: Any, cell: Any) -> Any:
    try:
        Asking.ask(cell)
    except TypeError:
        return x + 1
    return x + 2


def test_super_in_a_cell_is_the_error_that_it_is() -> None:
    def inner() -> Any:
        return cells

    cells = native.optimize(run_graph)(asks_super_of_a_cell)
    assert inner.__closure__ is not None
    assert torch.equal(cells(torch.ones(2), inner.__closure__[0]), torch.full((2,), 2.0))
