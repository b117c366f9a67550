"""Builtins that are given what they seldom are do in captured code what they do in eager.

Which arguments each gets is drawn, with a seed: what a function makes of them, what it raises, and
what it changes is as in eager, and the compiler finds no defect in itself. What an iterator or a
partial refuses as it is made it refuses there, and not where it is used.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out


class Thing:
    pass


THING = Thing()


def values() -> list[Any]:
    """New ones at each call, for some are changed."""
    return [
        0, 1, -1, 2.5, "ab", "a", b"x", None, True, (), (1, 2), [1], [], {}, {"a": 1}, {1, 2},
        frozenset([1]), range(3), slice(1), THING, Thing, int, torch.ones(2), torch.Size([3]),
        torch.float32, len, 1j, ..., iter([1]), collections.deque([1]), math.inf,
    ]  # fmt: skip


def called(name: str, *args: Any) -> Any:
    """A method of the first argument."""
    return getattr(args[0], name)(*args[1:])


FUNCTIONS: list[Callable[..., Any]] = [
    *(getattr(operator, name) for name in operator.__all__),
    *(each for name, each in vars(itertools).items() if not name.startswith("_")),
    *(each for name, each in vars(math).items() if callable(each) and name not in ("comb", "perm")),
    abs, all, any, bool, callable, chr, complex, dict, divmod, enumerate, filter, float, format,
    frozenset, getattr, hasattr, hex, int, isinstance, issubclass, iter, len, list, map, max, min,
    next, ord, pow, range, repr, reversed, round, set, setattr, slice, sorted, str, sum, tuple,
    type, zip, functools.reduce, functools.partial, collections.deque, collections.OrderedDict,
    collections.Counter, collections.defaultdict, torch.is_tensor, torch.numel, torch.Size,
    torch.finfo, torch.as_tensor, torch.broadcast_shapes,
    *(functools.partial(called, name) for name in (
        "append", "extend", "insert", "pop", "remove", "index", "count", "sort", "reverse",
        "update", "setdefault", "get", "popitem", "add", "discard", "union", "join", "split",
        "replace", "rotate", "move_to_end", "__getitem__", "__setitem__", "__contains__",
    )),
]  # fmt: skip


def told(program: Callable[..., Any], places: list[int]) -> str:
    """What a program makes of such arguments, and of them."""
    given = [values()[place] for place in places]
    vars(THING).clear()
    text = repr((program(torch.ones(3), given), given, vars(THING)))
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_a_function_does_what_it_does_in_eager(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    function, drawn = FUNCTIONS[number], random.Random(number)

    def program(x: torch.Tensor, given: list[Any]) -> Any:
        y = x + 1
        try:
            made = function(*given)
        except Exception as error:
            return y, type(error), str(error)
        return y, made

    for count in (0, 1, 1, 2, 2, 2, 3):
        native.reset()
        places = [drawn.randrange(len(values())) for _ in range(count)]
        captured = native.optimize(run_graph)(program)
        assert [told(captured, places) for _ in range(2)] == [told(program, places)] * 2
    assert "report" not in capsys.readouterr().err
