"""Numbers of Python's generators whose state nobody knows: what a program draws, it draws once."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph, same

pytestmark = pytest.mark.evaluator_out

GENERATOR = random.Random(1)


def into_the_graph(x: torch.Tensor, index: torch.Tensor) -> Any:
    y = x * random.random() + random.randint(1, 5)
    return y[index] + random.uniform(1, 2)


def also_given_back(x: torch.Tensor, index: torch.Tensor) -> Any:
    unused = random.getrandbits(8)
    number, other = random.randrange(0, 9, 2), random.gauss(0, 1)
    return (x * number)[index], number, other, unused


def two_generators(x: torch.Tensor, index: torch.Tensor) -> Any:
    first, second = random.random(), GENERATOR.random()
    return (x * first + second)[index], GENERATOR.randint(1, 3), random.random()


def seeded_afterwards(x: torch.Tensor, index: torch.Tensor) -> Any:
    first = random.random()
    random.seed(4)
    return x[index] * first + random.random()


def written_before_it_raises(x: torch.Tensor, index: torch.Tensor) -> Any:
    x.add_(random.random())
    try:
        return x[index]
    except IndexError:
        return x * random.random()


def across_a_break(x: torch.Tensor, index: torch.Tensor) -> Any:
    first = random.random()
    y = x[index] * first
    print(end="")
    return y + random.random(), first


def a_choice(x: torch.Tensor, index: torch.Tensor) -> Any:
    order = [1, 2, 3]
    random.shuffle(order)
    if random.random() < 0.5:
        return x[index] + 1, random.choice(order)
    return x[index] - 1, random.sample(order, 2)


def of_a_size(x: torch.Tensor, index: torch.Tensor) -> Any:
    zeros = torch.zeros(random.randint(1, 3))
    return x[index] + x + zeros, zeros.shape[0]


def asked_wrongly(x: torch.Tensor, index: torch.Tensor) -> Any:
    return x[index] + random.random(), random.randint(5, 1)


def outcome(function: Any, seed: int, index: int) -> Any:
    random.seed(seed)
    GENERATOR.seed(seed)
    x = torch.ones(3)
    try:
        found: Any = function(x, torch.tensor([index]))
    except (IndexError, RuntimeError, ValueError) as error:
        found = type(error), str(error)
    return [found, x, random.getstate(), GENERATOR.getstate()]


@pytest.mark.parametrize(
    "function",
    [
        into_the_graph, also_given_back, two_generators, seeded_afterwards,
        written_before_it_raises, across_a_break, a_choice, of_a_size, asked_wrongly,
    ],
)  # fmt: skip
def test_what_is_drawn_is_what_eager_draws_also_where_the_graph_raises(function: Any) -> None:
    captured = native.optimize(run_graph)(function)
    for seed in range(12):
        for index in (0, 9):
            assert same(outcome(function, seed, index), outcome(captured, seed, index))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_numbers_that_are_drawn_are_inputs_of_one_graph(backend: str) -> None:
    captured = native.compile(into_the_graph, backend=backend, fullgraph=True)
    found = []
    for function in (into_the_graph, captured):
        x = torch.ones(3, requires_grad=True)
        random.seed(2)
        for _ in range(3):
            function(x, torch.tensor([1])).backward()
        found.append(x.grad)
    assert same(*found)
