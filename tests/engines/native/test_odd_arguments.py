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
from tests.engines.native.harness import check, run_graph

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


CALLS = (
    "collections.deque([1]).index(0)", "collections.deque([1]).remove(0)",
    "collections.deque([1, 2]).index(2)", "collections.deque([1, 2]).index(1, 1)",
    "collections.deque([1, 2]).clear(a=1)", "collections.deque([1, 2]).append(x=1)",
    "collections.deque([1, 2]).__delitem__(5)", "collections.deque([1, 2]).__delitem__(0)",
    "collections.deque([1, 2]).__setitem__(5, 1)", "collections.deque([1, 2])[5]",
    "collections.deque([1, 2]).count(1)", "collections.deque([1, 2], maxlen=2).insert(0, 5)",
    "collections.deque([1, 2]).__setitem__(slice(0,1), [1])",
    "collections.deque([1, 2]).__getitem__(slice(0,1))", "collections.deque([1, 2]).pop(0)",
    "collections.deque([1, 2]).rotate(1.5)", "collections.deque([1, 2]).rotate(-1)",
    "collections.deque([1, 2]).extend(5)", "collections.deque([1, 2]).rotate(True)",
    'collections.deque([1, 2]).rotate("a")', "collections.deque([1, 2]).reverse(a=1)",
    "[1, 2].clear(a=1)", "[1, 2].reverse(a=1)", "[1, 2].copy(a=1)", "[1, 2].pop(a=1)",
    "[1, 2].append(1, a=1)", "[1, 2].index(1, a=1)", "[1, 2].count(1, a=1)", "(1, 2).count(1, a=1)",
    "{1: 2}.clear(a=1)", "{1: 2}.copy(a=1)", "{1: 2}.keys(a=1)", "{1: 2}.items(a=1)",
    "{1: 2}.get(1, default=3)", "{1: 2}.get(3, default=3)", "{1: 2}.pop(1, default=3)",
    "{1: 2}.setdefault(1, default=3)", "{1: 2}.popitem(a=1)", "{1: 2}.update(a=1)",
    "{1: 2}.update({3: 4}, a=1)", "{1: 2}.update(self=1)", "{1, 2}.clear(a=1)", "{1, 2}.copy(a=1)",
    "{1, 2}.add(3, a=1)", "{1, 2}.discard(3, a=1)", "{1, 2}.pop(a=1)",
    'collections.OrderedDict(a=1).move_to_end("a", last=False)',
    "collections.OrderedDict(a=1).popitem(last=False)",
    "collections.OrderedDict(a=1).popitem(a=False)", "collections.OrderedDict(a=1).clear(a=False)",
    'collections.OrderedDict(a=1).pop("a", default=3)',
    'collections.OrderedDict(a=1).pop("b", default=3)',
    'collections.OrderedDict(a=1).setdefault("b", default=3)',
    "collections.defaultdict(int).copy(a=1)", 'collections.Counter("ab").most_common(n=1)',
    '"ab".split(sep="b", maxsplit=1)', '"ab".upper(a=1)',
    '"ab".encode(encoding="ascii", errors="strict")', '"ab".join(["a"], a=1)',
    "(5).bit_length(a=1)", '(5).to_bytes(length=2, byteorder="big")', "(5).to_bytes()",
    "range(3).index(1, a=1)", "range(3).count(1)", "slice(1, 2).indices(5, a=1)",
    "slice(1, 2).indices(5)", "len([1], a=1)", "len(obj=[1])", "isinstance(1, int, a=1)",
    "enumerate([1], start=3).__next__()", "enumerate(iterable=[1], start=3).__next__()",
    "list(zip([1], [2, 3], strict=True))", "list(zip([1], [2, 3], strict=0))",
    "list(zip([1], [2], strict=1.5))", "list(zip([1], a=1))", "list(map(len, [[1]], a=1))",
    "list(map(lambda a, b: (a, b), [1], [2, 3]))", "list(reversed([1], a=1))",
    "round(2.5, ndigits=None)", "round(number=2.567, ndigits=1)", "pow(base=2, exp=3, mod=5)",
    'int("12", base=8)', 'int(x="12")', "str(object=5)", "float(x=1)", "bool(x=1)",
    "complex(real=1, imag=2)", "tuple(iterable=[1])", "list(iterable=[1])", "set(iterable=[1])",
    "dict(iterable=[1])", 'dict(a=1, **{"b": 2})', 'print(end="", a=1)', "divmod(5, 3, a=1)",
    'getattr([], "a", default=3)', "hash(obj=1)", "sorted([1, 2], cmp=1)", 'bytes(source=b"a")',
    "slice(stop=1)", "range(stop=3)", "iter([1], a=1)", "next(iter([1]), default=3)", "abs(x=1)",
    "callable(obj=1)",
)  # fmt: skip
"""Calls of containers' methods, and of builtins, with what is not theirs."""


@pytest.mark.parametrize("call", CALLS)
def test_a_call_takes_what_it_takes_in_eager(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"collections": collections}
    exec(TRIED.format(call), names)
    check(names["f"], torch.ones(1), times=1)
    assert "report" not in capsys.readouterr().err


TRIED = """
def f(x):
    try:
        return x + 1, {}
    except Exception as error:
        return x + 1, type(error), str(error)
"""
