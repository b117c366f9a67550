"""What operators do with any two of these: builtin values, and what is one by inheritance."""

from __future__ import annotations

import collections
import types
from typing import Any

import pytest
import torch

from tests.engines.native.harness import check

pytestmark = pytest.mark.evaluator_out


class List(list[Any]):
    """A list as any."""


class SaysNothing(list[Any]):
    """Answers to no comparison, and has other items than it holds."""

    def __eq__(self, other: object) -> Any:
        return NotImplemented

    __hash__ = None

    def __getitem__(self, index: Any) -> Any:
        return 5


class Tuple(tuple[Any, ...]):
    """A tuple as any."""


class Dict(dict[str, Any]):
    """A dictionary as any."""


class Int(int):
    """An int as any."""

    def half(self) -> int:
        return self // 2


class Text(str):
    """A text as any."""


OPERANDS = (
    List([1, 2]), List([1]), SaysNothing([1, 2]), [1, 2], Tuple((1, 2)), (1, 2), Dict(a=1),
    {"a": 1}, collections.defaultdict(int, a=1), collections.Counter("a"), Int(2), 2, Text("ab"),
    "ab", None,
)  # fmt: skip
OPERATORS = ("==", "!=", "<", ">=", "+", "*", "|", "in")
TEXT = """
def f(x, a, b):
    try:
        result = a {} b
        return x + 1, type(result), result
    except TypeError as error:
        return x + 1, str(error)
"""


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_do_what_they_do_in_eager(operator: str) -> None:
    whole = 0 if operator in ("==", "!=") else len(OPERANDS) ** 2  # an error breaks the graph
    for a in OPERANDS:
        for b in OPERANDS:
            namespace: dict[str, Any] = {}
            exec(TEXT.format(operator), namespace)
            whole += not check(namespace["f"], torch.ones(1), a, b, times=1).breaks
    assert whole >= len(OPERANDS) ** 2 // 2


def reads_a_number(x: Any, number: Int, text: Text) -> Any:
    return x * number + number.half(), x[: number - 1], [3, 4, 5][number], f"{text} {number:>4}"


def looks_into(x: Any, items: Any, names: Any) -> Any:
    told = f"{items} {names}", repr(items), str(names), hash(tuple(names)), "{}".format(names)
    return x + 1, told, items < [4], tuple(items) > (1, 2)


def asks_for_facts(x: Any, weight: Any) -> Any:
    import math
    import operator
    import sys

    facts = operator.attrgetter("a", "b")(types.SimpleNamespace(a=1, b=2))
    same = weight.requires_grad_() is weight, sys.version_info >= (3, 8), sys.version_info[0]
    return x * weight.requires_grad_(), facts, same, math.fsum([0.1] * 3), math.ldexp(1.0, 2)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (reads_a_number, (Int(2), Text("ab"))),
        (looks_into, ([3, [1, None]], {"a": (1, 2.5), "b": "c"})),
        (asks_for_facts, (torch.nn.Parameter(torch.ones(2)),)),
    ],
)
def test_what_is_one_graph(function: Any, args: Any) -> None:
    explanation = check(function, torch.ones(2), *args)
    assert (explanation.graph_count, explanation.breaks) == (1, []), explanation
