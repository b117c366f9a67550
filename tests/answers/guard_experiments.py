"""Experiments for `is-guarded`: programs that change the value that is asked about, halfway.

What is true is found by experiment: each program makes a call and stops; then it changes the value
and makes another. A value that is guarded makes one graph more, one that is not makes none. Nothing
about the answers is written down here, so a program takes a few lines. Those on modules are in
`guard_experiments_on_modules`.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from tests.answers.cases import CASES, Run

ones = torch.ones
Halves = Callable[[Run], Iterator[None]]


class Experiment(NamedTuple):
    """What is asked about, and the program that changes it."""

    expression: str
    program: Halves


EXPERIMENTS: dict[str, Experiment] = {}


def experiment(expression: str) -> Callable[[Halves], Halves]:
    """Take a program up."""

    def take(program: Halves) -> Halves:
        assert program.__name__ not in CASES  # they are recorded together
        assert (
            EXPERIMENTS.setdefault(program.__name__, Experiment(expression, program)).program
            is program
        )
        return program

    return take


def recompiled(name: str) -> int:
    """How many graphs a program makes after the change."""
    torch._dynamo.reset()
    run = Run(name, remedied=False)
    (before,) = (run.graphs for _ in EXPERIMENTS[name].program(run))
    return run.graphs - before


# --- objects, containers, functions


@experiment("thing.k")
def given_by_getattr(run: Run) -> Iterator[None]:
    class Thing:
        def __init__(self) -> None:
            self.data = {"k": 2}

        def __getattr__(self, name: str) -> Any:
            return self.__dict__["data"][name]

    @run.compile
    def reading(thing: Any, x: Any) -> Any:
        return x * thing.k

    thing = Thing()
    reading(thing, ones(2))
    yield
    thing.data["k"] = 3
    reading(thing, ones(2))


@experiment("thing.inner.value")
def attribute_of_an_attribute(run: Run) -> Iterator[None]:
    @run.compile
    def deep(thing: Any, x: Any) -> Any:
        return x * thing.inner.value

    thing = types.SimpleNamespace(inner=types.SimpleNamespace(value=2))
    deep(thing, ones(2))
    yield
    thing.inner.value = 3
    deep(thing, ones(2))


@experiment("thing.k")
def slot_of_an_object(run: Run) -> Iterator[None]:
    class Slotted:
        __slots__ = ("k",)

        def __init__(self) -> None:
            self.k = 2

    @run.compile
    def slot(thing: Any, x: Any) -> Any:
        return x * thing.k

    thing = Slotted()
    slot(thing, ones(2))
    yield
    thing.k = 3
    slot(thing, ones(2))


@experiment("this.k")
def self_by_another_name(run: Run) -> Iterator[None]:
    class Thing:
        k = 2

        @run.compile
        def method(this: Any, x: Any) -> Any:
            return x * this.k

    thing = Thing()
    thing.method(ones(2))
    yield
    thing.k = 3
    thing.method(ones(2))


@experiment("pack.k")
def field_of_a_frozen_dataclass(run: Run) -> Iterator[None]:
    @dataclasses.dataclass(frozen=True)
    class Pack:
        k: int
        t: Any

    @run.compile
    def unpacked(pack: Any) -> Any:
        return pack.t * pack.k

    unpacked(Pack(2, ones(2)))
    yield
    unpacked(Pack(3, ones(2)))


@experiment("mode.value")
def value_of_an_enum(run: Run) -> Iterator[None]:
    class Mode(enum.Enum):
        A = 1
        B = 2

    @run.compile
    def moded(x: Any, mode: Any) -> Any:
        return x * mode.value

    moded(ones(2), Mode.A)
    yield
    moded(ones(2), Mode.B)


@experiment("batch['y']")
def other_item_of_a_batch(run: Run) -> Iterator[None]:
    @run.compile
    def one_item(batch: Any) -> Any:
        return batch["x"] * 2

    one_item({"x": ones(2), "y": ones(3)})
    yield
    one_item({"x": ones(2), "y": ones(4)})


@experiment("len(batch)")
def batch_with_more_items(run: Run) -> Iterator[None]:
    @run.compile
    def first_item(batch: Any) -> Any:
        return batch["x"] * 2

    first_item({"x": ones(2)})
    yield
    first_item({"x": ones(2), "z": ones(3)})


@experiment("table['b']")
def other_item_of_an_ordered_dict(run: Run) -> Iterator[None]:
    @run.compile
    def ordered(x: Any, table: Any) -> Any:
        return x * table["a"]

    ordered(ones(2), collections.OrderedDict(a=2, b=3))
    yield
    ordered(ones(2), collections.OrderedDict(a=2, b=4))


@experiment("queue[0]")
def item_of_a_deque(run: Run) -> Iterator[None]:
    @run.compile
    def queued(x: Any, queue: Any) -> Any:
        return x * queue[0]

    queued(ones(2), collections.deque([2, 3]))
    yield
    queued(ones(2), collections.deque([4, 3]))


@experiment("args[1]")
def argument_that_is_not_used(run: Run) -> Iterator[None]:
    @run.compile
    def starred(*args: Any) -> Any:
        return args[0] * 2

    starred(ones(2), 3)
    yield
    starred(ones(2), 4)


@experiment("xs[1].shape[0]")
def size_of_what_is_not_used(run: Run) -> Iterator[None]:
    @run.compile
    def one_of_two(xs: Any) -> Any:
        return xs[0] * 2

    one_of_two((ones(2), ones(3)))
    yield
    one_of_two((ones(2), ones(4)))


@experiment("act")
def function_as_an_argument(run: Run) -> Iterator[None]:
    @run.compile
    def acting(x: Any, act: Any) -> Any:
        return act(x)

    acting(ones(2), torch.relu)
    yield
    acting(ones(2), torch.sigmoid)


@experiment("helper.__code__")
def code_of_a_helper(run: Run) -> Iterator[None]:
    def helper(x: Any) -> Any:
        return x * 2

    def other(x: Any) -> Any:
        return x + 1

    @run.compile
    def helped(x: Any) -> Any:
        return helper(x)

    helped(ones(2))
    yield
    helper.__code__ = other.__code__
    helped(ones(2))


@experiment("power.args[0].shape[0]")
def argument_of_a_partial(run: Run) -> Iterator[None]:
    power = functools.partial(torch.mul, ones(1))

    @run.compile
    def partially(x: Any) -> Any:
        return power(x)

    partially(ones(2))
    yield
    power = functools.partial(torch.mul, ones(2))
    partially(ones(2))


@experiment("k")
def default_for_a_keyword(run: Run) -> Iterator[None]:
    def keyed(x: Any, *, k: int = 2) -> Any:
        return x * k

    compiled = run.compile(keyed)
    compiled(ones(2))
    yield
    keyed.__kwdefaults__ = {"k": 3}
    compiled(ones(2))


# --- tensors and numbers


@experiment("x.numel()")
def elements_of_a_tensor(run: Run) -> Iterator[None]:
    @run.compile
    def counted(x: Any) -> Any:
        return x * 2

    counted(ones(2, 3))
    yield
    counted(ones(2, 4))


@experiment("x.is_contiguous()")
def layout_of_a_tensor(run: Run) -> Iterator[None]:
    @run.compile
    def laid_out(x: Any) -> Any:
        return x * 2

    laid_out(ones(3, 3))
    yield
    laid_out(ones(3, 3).t())


@experiment("x.is_floating_point()")
def kind_of_number(run: Run) -> Iterator[None]:
    @run.compile
    def number(x: Any) -> Any:
        return x * 2

    number(ones(2))
    yield
    number(ones(2).int())


@experiment("x.grad")
def gradient_that_appears(run: Run) -> Iterator[None]:
    @run.compile
    def leaf(x: Any) -> Any:
        return x * 2

    x = ones(2, requires_grad=True)
    leaf(x)
    yield
    x.grad = ones(2)
    leaf(x)


@experiment("x._mark")
def attribute_of_a_tensor(run: Run) -> Iterator[None]:
    @run.compile
    def marked(x: Any) -> Any:
        return x * x._mark

    x: Any = ones(2)
    x._mark = 2
    marked(x)
    yield
    x._mark = 3
    marked(x)


@experiment("x.shape[0]")
def size_under_a_bound(run: Run) -> Iterator[None]:
    def bounded(x: Any) -> Any:
        return x * 2 if x.shape[0] < 8 else x

    compiled = run.compile(bounded, dynamic=True)
    compiled(ones(4))
    yield
    compiled(ones(5))


@experiment("n")
def steps_of_a_loop(run: Run) -> Iterator[None]:
    def looped(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x + 1
        return x

    compiled = run.compile(looped, dynamic=True)
    compiled(ones(4), 3)
    yield
    compiled(ones(4), 4)


@experiment("n")
def number_to_compute_with(run: Run) -> Iterator[None]:
    def computed(x: Any, n: Any) -> Any:
        return x * n

    compiled = run.compile(computed, dynamic=True)
    compiled(ones(4), 3)
    yield
    compiled(ones(4), 4)


@experiment("part.stop")
def stop_of_a_slice(run: Run) -> Iterator[None]:
    @run.compile
    def sliced(x: Any, part: Any) -> Any:
        return x[part] * 2

    sliced(ones(5), slice(0, 3))
    yield
    sliced(ones(5), slice(0, 4))


@experiment("dtype")
def dtype_as_an_argument(run: Run) -> Iterator[None]:
    @run.compile
    def cast(x: Any, dtype: Any) -> Any:
        return x.to(dtype)

    cast(ones(2), torch.float16)
    yield
    cast(ones(2), torch.float64)


@experiment("factor")
def float_of_a_closure(run: Run) -> Iterator[None]:
    factor = 0.5

    @run.compile
    def closed(x: Any) -> Any:
        return x * factor

    closed(ones(2))
    yield
    factor = 0.75
    closed(ones(2))


@experiment("thing.other")
def other_attribute_of_a_closure(run: Run) -> Iterator[None]:
    thing = types.SimpleNamespace(value=2, other=3)

    @run.compile
    def enclosed(x: Any) -> Any:
        return x * thing.value

    enclosed(ones(2))
    yield
    thing.other = 4
    enclosed(ones(2))
