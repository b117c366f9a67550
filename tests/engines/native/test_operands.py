"""What operators do with any two of these: builtin values, and what is one by inheritance."""

from __future__ import annotations

import collections
import enum
import re
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


class Numbers(set[int]):
    """A set as any."""


class Reflects:
    """Answers whoever does not take it."""

    def __ror__(self, other: Any) -> Any:
        return "or", other

    def __rand__(self, other: Any) -> Any:
        return "and", other

    def __radd__(self, other: Any) -> Any:
        return "add", other

    def __iter__(self) -> Any:
        return iter([("b", 2)])


CHANGED = (*OPERANDS[:-1], {1, 2}, Numbers({1, 2}), frozenset({1}))
CHANGING = ("|=", "&=", "-=", "^=", "+=", "*=")
IN_PLACE = """
def f(x, a, b):
    before = a
    try:
        a {} b
        return x + 1, type(a), a, a is before, before
    except TypeError as error:
        return x + 1, str(error), before
"""


@pytest.mark.parametrize("operator", CHANGING)
def test_operators_change_what_they_change_in_eager(operator: str) -> None:
    for a in CHANGED:
        for b in (*OPERANDS, {2, 3}, Numbers({2, 3}), Reflects()):
            namespace: dict[str, Any] = {}
            exec(IN_PLACE.format(operator), namespace)
            check(namespace["f"], torch.ones(1), a, b, times=1)


class Iterated:
    def __iter__(self) -> Any:
        return iter([3, 1, 2])


class Indexed:
    def __getitem__(self, index: int) -> int:
        if index > 2:
            raise IndexError
        return index * 2


class Sized:
    def __len__(self) -> int:
        return 3


class Refuses:
    def __index__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "no"


class Asked:
    """Has what it is asked for, but for what a mapping has."""

    def __getattr__(self, name: str) -> Any:
        if name == "keys" or name.startswith("__"):
            raise AttributeError(name)
        return 3


class Kind(enum.Enum):
    A = 1


class Number(enum.IntEnum):
    B = 2


OBJECTS: tuple[Any, ...] = (
    *OPERANDS, Iterated(), Indexed(), Sized(), Refuses(), Asked(), Kind.A, Number.B, range(3),
    slice(1, 3), {1, 2}, frozenset("a"), collections.deque([3, 1]), collections.OrderedDict(b=1),
    b"ab", 1.5, True, "", (), [], {}, [[1], [2]], types.SimpleNamespace(a=1), int, len,
    re.compile("a"), torch.float32, torch.device("cpu"), torch.Size([1, 2]), torch.nn.Identity(),
    ...,
)  # fmt: skip
USES = (
    """
len(o); bool(o); list(o); sorted(o); list(reversed(o)); dict(o); sum(o); max(o); next(iter(o))
[*o]; {**o}; (lambda **k: k)(**o); (lambda *a: a)(*o); o[0]; o[-1]; o[1:]; o["a"]; 1 in o; not o
hash(o) == hash(o); isinstance(o, collections.abc.Sequence); callable(o); hasattr(o, "keys"); -o
abs(o); round(o); int(o); float(o); divmod(o, 2); 2 * o; o - 1; o % 2; o ** 2; o & 1; o << 1
[10, 20, 30][o]; range(o); {o: 1}[o]; [o].index(o); o(); o.a; o.value; vars(o); ", ".join(o)
del_item(o); set_item(o); in_place(o); unpacked(o); matched(o); raised(o); entered(o); x[o]
""".replace("\n", "; ")
    .strip("; ")
    .split("; ")
)
HEAD = """
import collections

def del_item(o):
    del o[0]
    return o

def set_item(o):
    o[0] = 5
    return o

def in_place(o):
    p = o
    p += o
    return p is o, p

def unpacked(o):
    a, b = o
    return a, b

def matched(o):
    match o:
        case [a, *_]: return "sequence", a
        case {"a": value}: return "mapping", value
        case int(n) | str(n): return "plain", n
    return "nothing"

def raised(o):
    raise o

def entered(o):
    with o as p:
        return p

def f(x, o):
    try:
        result = USE
        return x + 1, type(result), result
    except Exception as error:
        return x + 1, type(error), str(error)
"""


@pytest.mark.parametrize("use", USES)
def test_what_is_asked_of_an_object_does_what_it_does_in_eager(use: str) -> None:
    for each in OBJECTS:
        namespace: dict[str, Any] = {}
        exec(HEAD.replace("USE", use), namespace)
        check(namespace["f"], torch.ones(2), each, times=1)


def reads_a_number(x: Any, number: Int, text: Text) -> Any:
    return x * number + number.half(), x[: number - 1], [3, 4, 5][number], f"{text} {number:>4}"


def looks_into(x: Any, items: Any, names: Any) -> Any:
    told = f"{items} {names}", repr(items), str(names), hash(tuple(names))
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
