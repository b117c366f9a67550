"""Objects are asked by the methods of their classes in captured code what they are asked in eager:
the same, as often, and in the same order.

Each program gets an object whose special methods note their calls; it was there before, or the
program makes it.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

NOTED: list[tuple[str, int]] = []


def noting(base: type = object, **answers: Any) -> Any:
    """A class with these methods, each of which notes that it is called, and gives the answer."""

    def method_of(name: str, answer: Any) -> Any:
        def method(self: Any, *args: Any, **named: Any) -> Any:
            NOTED.append((name, len(args)))
            return answer(self, *args, **named) if callable(answer) else answer

        return method

    named = {(key if key == "keys" else f"__{key}__"): answer for key, answer in answers.items()}
    return type("Noting", (base,), {name: method_of(name, each) for name, each in named.items()})


def of_three(self: Any, index: int) -> int:
    if index > 2:
        raise IndexError(index)
    return index


def given_to_gets(self: Any, name: str) -> int:
    if name != "given":
        raise AttributeError(name)
    return 7


Sized = noting(len=3, getitem=of_three)
Given = noting(iter=lambda self: iter([1, 2, 3]), len=3)
Asked = noting(iter=lambda self: iter([1, 2, 3]), contains=lambda self, x: x == 2, bool=True)
Hinted = noting(iter=lambda self: iter([1, 2, 3]), length_hint=2)
Backwards = noting(reversed=lambda self: iter([9, 8]), len=3, getitem=of_three)
Equal = noting(eq=lambda self, other: self is other, hash=5)
Ordered = noting(lt=True, le=True, gt=False, ge=True)
Number = noting(
    add=1, radd=2, iadd=lambda self, other: self, sub=1, mul=3, rmul=4, neg=-1, abs=4, round=5,
    divmod=(1, 2), pow=8, matmul=6, ror=5, invert=2, pos=1,
)  # fmt: skip
Converted = noting(
    int=2, float=2.5, str="S", repr="R", format=lambda self, spec: f"F{spec}", index=1, bool=True,
    floor=1, ceil=2, trunc=3,
)  # fmt: skip
Called = noting(call=lambda self, *args, **named: len(args) + len(named))
Entered = noting(enter=lambda self: self, exit=True)
Answers = noting(getattr=given_to_gets)
Mapping = noting(keys=lambda self: ["a", "b"], getitem=lambda self, key: key + "!")
Missing = noting(dict, missing=lambda self, key: key * 2)
Stored = noting(setitem=None, delitem=None)
Empty = noting(len=0)
Items = noting(
    list, getitem=list.__getitem__, len=list.__len__, iter=list.__iter__, contains=list.__contains__
)
Table = noting(
    dict, getitem=dict.__getitem__, setitem=dict.__setitem__, len=dict.__len__,
    iter=dict.__iter__, contains=dict.__contains__, keys=dict.keys,
)  # fmt: skip


def unpacked(o: Any) -> Any:
    a, *_ = o
    b, c, d = o
    return a, b, c, d


def put_into_slice(o: Any) -> Any:
    made = [1, 2]
    made[:1] = o
    return made


def matched(o: Any) -> Any:
    match o:
        case 3:
            return 1
        case [_]:
            return 2
        case _:
            return 3


def added_to(o: Any) -> Any:
    same = o
    same += 1
    return same is o


def entered(o: Any) -> Any:
    with o as same:
        raise ValueError
    for _ in range(2):
        with o, o:
            continue
    with contextlib.ExitStack() as stack:
        stack.enter_context(o)
    return same is o


def items_stored(o: Any) -> Any:
    o[1] = 2
    del o[1]


def table_changed(o: Any) -> Any:
    o["b"] = 2
    o["a"] += 5
    o.setdefault("c", 3)
    del o["a"]
    return o.pop("b"), len(o)


def extended(o: Any) -> Any:
    made: list[Any] = []
    made.extend(o)
    return made


def updated(o: Any) -> Any:
    made: dict[Any, Any] = {}
    made.update(o)
    return made


OF_ITERABLES: list[Callable[[Any], Any]] = [
    lambda o: list(o),
    lambda o: tuple(o),
    lambda o: [*o, *o],
    lambda o: [each for each in o],  # noqa: C416  # a loop is asked by another instruction
    lambda o: (lambda *args: args)(*o),
    lambda o: (1 in o, 9 in o),
    lambda o: sum(o),
    lambda o: (max(o), min(o, key=lambda each: -each)),
    lambda o: sorted(o),
    lambda o: list(enumerate(o)),
    lambda o: list(zip(o, o, strict=True)),
    lambda o: ",".join(map(str, o)),
    lambda o: (any(o), all(o)),
    lambda o: dict.fromkeys(o),
    lambda o: functools.reduce(operator.add, o),
    lambda o: list(itertools.islice(itertools.chain(o, o), 4)),
    lambda o: list(itertools.accumulate(o)),
    lambda o: collections.deque(o, 2),
    unpacked,
    put_into_slice,
    extended,
]
PROGRAMS: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    *((kind, each) for kind in (Sized, Given, Hinted) for each in OF_ITERABLES),
    (Sized, lambda o: (len(o), bool(o), not o, o[1], 1 if o and 3 else 2)),
    (Sized, lambda o: list(reversed(o))),
    (Backwards, lambda o: list(reversed(o))),
    (Asked, lambda o: (2 in o, 3 not in o, 1 if o else 2, bool(o), any([o]), (o or 3) is o)),
    (Empty, lambda o: (1 if o else 2, bool(o), not o, o or 5)),
    (Equal, lambda o: (o == o, o != o, o == 3, 3 == o, o != 3)),  # noqa: SIM300  # each side
    (Equal, lambda o: (o in [o], o in [1, 2], 1 in [o], [o] == [o], (o,) == (2,), [1].count(o))),
    (Equal, lambda o: (hash(o), {o: 1}[o])),
    (Equal, lambda o: ({"a": o} == {"a": 2}, [o, 1].index(1))),
    (Equal, matched),
    (Ordered, lambda o: (o < 1, o <= 1, o > 1, o >= 1, o > 1, 0 < o < 9, 0 > o > 3)),
    (Ordered, lambda o: (max(o, o) is o, min([o, o]) is o, (1, o) < (1, o))),
    (Number, lambda o: (o + 1, 1 + o, o - 1, o * 2, 2 * o, -o, abs(o), o**2, o @ 1, 1 | o, ~o)),
    (Number, lambda o: (round(o), divmod(o, 2), sum([o, o]), pow(o, 2), operator.add(o, 1))),
    (Number, lambda o: functools.reduce(operator.add, [o, 1, 2])),
    (Number, added_to),
    (Converted, lambda o: (int(o), float(o), str(o), repr(o), bool(o), operator.index(o))),
    (Converted, lambda o: (f"{o}", f"{o!r}", f"{o:>3}", format(o), f"{o!s}", "%s %r" % (o, o))),  # noqa: UP031  # so, too
    (Converted, lambda o: ([1, 2, 3][o], "abc"[o], list(range(o)), [1, 2, 3][:o])),
    (Converted, lambda o: (math.floor(o), math.ceil(o), math.trunc(o))),
    (Called, lambda o: (o(), o(1, a=2), callable(o), list(map(o, [1, 2])), sorted([2, 1], key=o))),
    (Entered, entered),
    (Answers, lambda o: (o.given, getattr(o, "no", 3), hasattr(o, "given"), hasattr(o, "no"))),
    (Mapping, lambda o: (lambda **named: named)(**o)),
    (Mapping, lambda o: (dict(o), {**o, "c": 1}, updated(o))),
    (Missing, lambda o: (o["ab"], o.get("ab"), "ab" in o, len(o))),
    (Stored, items_stored),
    (lambda: Items([1, 2]), lambda o: (o[0], len(o), list(o), [*o], o[:1], 1 in o, sum(o))),
    (lambda: Items([1, 2]), lambda o: (o == [1, 2], sorted(o), operator.add(o, [1]))),
    (lambda: Table(a=1), lambda o: (o["a"], len(o), list(o), "a" in o, {**o}, o.get("a"))),
    (lambda: Table(a=1), lambda o: (dict(o), list(o.items()), o.copy(), o | {"b": 2}, updated(o))),
    (lambda: Table(a=1), table_changed),
]
HELD: list[Any] = []


def told(program: Callable[[torch.Tensor], Any]) -> Any:
    """What a program gives or raises, and what is noted meanwhile."""
    NOTED.clear()
    try:
        given = repr(program(torch.ones(3)))
    except Exception as error:
        given = repr(error)
    return given, [*NOTED]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
@pytest.mark.parametrize("made", [False, True])
def test_an_object_is_asked_as_in_eager(made: bool, number: int) -> None:
    kind, function = PROGRAMS[number]

    def program(x: torch.Tensor) -> Any:
        y = x + 1
        return y, function(kind() if made else HELD[0])

    HELD[:] = [kind()]
    expected = told(program)
    captured = native.optimize(run_graph)(program)
    for _ in range(2):
        HELD[:] = [kind()]
        assert told(captured) == expected


Key = noting(hash=3, eq=lambda self, other: self is other)
KEY = Key()
TABLES: list[Any] = [
    collections.OrderedDict([(KEY, 1), (Key(), 2)]),
    collections.OrderedDict([((KEY, 1), 1), ("b", 2)]),
    {KEY: 1, "b": 2},
    noting(dict, iter=dict.__iter__, keys=dict.keys)({"a": 1}),
    noting(collections.OrderedDict, iter=collections.OrderedDict.__iter__)(a=1, b=2),
]


def found_beside_a_break(x: Any, table: Any) -> Any:
    y = x + 1
    print(end="")
    return y + len(table), table.get(KEY), table.get((KEY, 1)), table.get("b")


def gone_through(x: Any, table: Any) -> Any:
    for value in table.values():
        x = x + value
        print(end="")
    return x, list(table.items())


@pytest.mark.parametrize("program", [found_beside_a_break, gone_through])
@pytest.mark.parametrize("table", TABLES)
def test_keys_are_asked_for_their_hashes_as_often(program: Callable[..., Any], table: Any) -> None:
    x = torch.ones(2)
    NOTED.clear()
    program(x, table)
    expected = list(NOTED)
    captured = native.optimize(run_graph)(program)
    for _ in range(3):
        NOTED.clear()
        captured(x, table)
        assert expected == NOTED
