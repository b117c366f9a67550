"""Every method that a builtin class has does in captured code what it does in eager.

How it is called is drawn, with a seed: of the object, of its class, or by `getattr`, with odd
arguments. What comes out, what is raised with which text, and what the object is then are eager's,
and the compiler finds no defect in itself.
"""

from __future__ import annotations

import collections
import random
import re
import types
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out

OBJECTS: tuple[tuple[str, ...], ...] = (
    ("[1, 2, 3]", "[]", "[3, 1, 'a']"), ("{'a': 1, 2: 'b'}", "{}"), ("{1, 2, 3}", "set()"),
    ("frozenset([1, 2])",), ("(1, 2, 1)", "()"), ("'a b,a'", "''", "'12'"), ("b'ab a'", "b''"),
    ("5", "-3", "0"), ("True",), ("2.5", "-0.0", "float('inf')"), ("1+2j",), ("None",),
    ("range(1, 9, 3)",), ("slice(1, 9, 3)",), ("collections.OrderedDict(a=1, b=2)",),
    ("collections.defaultdict(list, a=1)",), ("collections.Counter('abca')",),
    ("collections.deque([1, 2, 3])", "collections.deque([1, 2], 2)"),
    ("collections.ChainMap({'a': 1}, {'b': 2})",), ("collections.UserDict({'a': 1})",),
    ("collections.UserList([1, 2])",), ("{'a': 1, 2: 'b'}.keys()",), ("{'a': 1}.items()",),
    ("{'a': 1, 2: 'b'}.values()",), ("types.MappingProxyType({'a': 1})",),
    ("types.SimpleNamespace(a=1)",), ("torch.Size([2, 3])",), ("torch.float32",),
    ("bytearray(b'ab')",),
)  # fmt: skip
"""Of each class, how it is written."""
ARGUMENTS = (
    "0", "1", "-1", "5", "2.5", "'a'", "'ab'", "','", "b'a'", "None", "True", "()", "(1, 2)",
    "[1]", "[]", "{}", "{'a': 1}", "{1, 2}", "frozenset([1])", "range(3)", "slice(1)",
    "slice(None, None, 2)", "iter([1])", "int", "len", "1j", "...", "[(1, 2)]",
    "[('a', 1), ('b', 2)]", "collections.Counter('ab')", "'%s'", "'d'", "lambda *a: 1", "object",
)  # fmt: skip
BY_NAME = (
    "key=len", "key=None", "reverse=True", "default=1", "maxsplit=1", "sep=None", "a=1",
    "last=False", "signed=True", "byteorder='little'", "keepends=True", "n=1", "self=1",
    "iterable=[1]", "encoding='utf8'", "tabsize=2",
)  # fmt: skip
LEFT_OUT = frozenset(
    f"__{name}__"
    for name in (
        "class", "init_subclass", "subclasshook", "reduce_ex", "reduce", "doc", "sizeof", "dir",
        "setstate", "getnewargs", "getstate", "hash", "weakref", "dict",
    )
)  # fmt: skip
"""What tells of memory, or is no method."""
CALLS = ("r.{0}({1})", "r.{0}({1})", "r.{0}({1})", "type(r).{0}(r, {1})", "getattr(r, '{0}')({1})")
PROGRAM = """
def f(x):
    y = x + 1
    r = {}
    try:
        made = {}
    except Exception as error:
        return y, r, type(error), str(error)
    return y, r, made
"""
TIMES = 1


def told(value: object) -> str:
    """What a program has returned."""
    if type(value) in (tuple, list):
        return f"{type(value).__name__}({', '.join(map(told, value))})"  # type: ignore[call-overload]  # one of these
    if hasattr(type(value), "__next__"):
        return f"{type(value).__name__} {told(list(value))}"  # type: ignore[call-overload]  # an iterator
    return re.sub(r"0x[0-9a-f]+", "0x", f"{type(value).__name__} {value!r}")


@pytest.mark.parametrize("written", OBJECTS, ids=lambda written: written[0])
def test_a_method_does_what_it_does_in_eager(
    written: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {"collections": collections, "types": types, "torch": torch}
    drawn = random.Random(written[0])
    methods = [name for name in dir(eval(written[0], names)) if name not in LEFT_OUT]
    for method in methods * TIMES:
        args = drawn.choices(ARGUMENTS, k=drawn.choice((0, 1, 1, 1, 2, 2, 3)))
        args += drawn.choices(BY_NAME, k=drawn.random() < 0.15)
        call = drawn.choice(CALLS).format(method, ", ".join(args))
        exec(PROGRAM.format(drawn.choice(written), call), names)
        native.reset()
        captured = native.optimize(run_graph)(names["f"])
        expected = told(names["f"](torch.ones(2)))
        for _ in range(2):
            assert told(captured(torch.ones(2))) == expected, call
    assert "report" not in capsys.readouterr().err


class Shown(dict[str, int]):
    def keys(self) -> Any:
        return "others"

    def plain(self) -> Any:
        return super().keys()


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, collections.Counter, Shown])
def test_views_are_those_of_the_object(kind: type[dict[str, int]]) -> None:
    """They are of its class, and show what comes later."""

    def given(x: torch.Tensor, d: Any) -> Any:
        d.pop("a")
        shown = (d.items(), d.values(), d.plain() if hasattr(d, "plain") else d.keys())
        d["c"] = 3
        return x + 1, shown, iter(d)

    def made(x: torch.Tensor) -> Any:
        d = kind(a=1, b=2)
        return x + 1, d.values(), d.items(), d, iter(d)

    captured = native.optimize(run_graph)(given)
    for program in (given, captured):
        d = kind(a=1, b=2)
        _, views, iterator = program(torch.ones(2), d)
        d.update(d=4)
        of: Any = collections.OrderedDict() if kind is collections.OrderedDict else {}
        assert [list(view) for view in views[:2]] == [[("b", 2), ("c", 3), ("d", 4)], [2, 3, 4]]
        assert list(views[2]) == ["b", "c", "d"]
        assert [type(view) for view in views] == [
            type(of.items()),
            type(of.values()),
            type(of.keys()),
        ]
        assert type(iterator) is type(iter(of))
    for make in (made, native.optimize(run_graph)(made)):
        _, values, items, d, iterator = make(torch.ones(2))
        assert type(iterator) is type(iter(dict.keys(d) if kind is Shown else d))
        d["z"] = 5
        assert list(values) == [1, 2, 5]
        assert list(items) == [("a", 1), ("b", 2), ("z", 5)]


def raises(key: Any) -> Any:
    raise KeyError(key)


def test_the_text_of_an_error_of_one_argument() -> None:
    def f(x: torch.Tensor, key: Any) -> Any:
        said: list[Any] = []
        make: Any
        for make in (
            raises,
            {}.__getitem__,
            collections.UserDict().pop,
            collections.ChainMap().pop,
        ):
            try:
                make(key)
            except KeyError as error:
                said.append((str(error), error.args))
        try:
            raise ValueError(list(key))
        except ValueError as error:
            return x + 1, said, str(error)

    for key in ((1, 2), (), "a", ("a",)):
        check(f, torch.ones(2), key)


def test_a_set_is_asked_for_as_a_frozen_one() -> None:
    def f(x: torch.Tensor) -> Any:
        held: Any = {1, frozenset([1])}
        found = {1} in held, {2} in held
        held.discard({1})
        return x + 1, found, held

    check(f, torch.ones(2))


class Listed(list[Any]):
    pass


class Updated(dict[str, Any]):
    def update(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError


@pytest.mark.parametrize("kind", [Listed, collections.deque])
def test_a_list_by_inheritance_grows_in_place(kind: Any) -> None:
    def f(x: torch.Tensor) -> Any:
        made = kind([x])
        same = made
        made += [1]
        made += (2,)
        made += made
        return x + 1, made is same, list(made)

    assert not check(f, torch.ones(2)).breaks


@pytest.mark.parametrize("kind", [Shown, Updated, collections.OrderedDict])
def test_a_dictionary_by_inheritance_grows_in_place(kind: Any) -> None:
    def f(x: torch.Tensor, given: Any) -> Any:
        made = kind(a=1)
        same = made
        made |= {"b": x}
        made |= [("c", 2)]
        given |= {"z": 3}
        return x + 1, made is same, made, given

    assert not check(f, torch.ones(2), kind(q=2)).breaks


def test_what_has_come_of_operators_is_no_leaf() -> None:
    def f(x: torch.Tensor) -> Any:
        y = x * 2
        grown = torch.zeros(3)
        grown.mul_(y.sum())
        with torch.no_grad():
            z = y * 2
        return y.is_leaf, grown.is_leaf, z.is_leaf, y.detach().is_leaf, (z + 1).is_leaf

    assert not check(f, torch.ones(3, requires_grad=True)).breaks


def test_a_method_is_known_where_its_argument_has_broken_the_graph() -> None:
    def f(x: torch.Tensor, given: list[Any], inherited: Any) -> Any:
        made: Any = collections.OrderedDict()
        given.append(print("a"))
        inherited.update(b=print("b"))
        made.update(a=print("c"))
        text = "a-b".replace("-", str(print("d")))
        return x + 1, given, inherited, made, text

    breaks = check(f, torch.ones(2), [1], Shown(a=1)).breaks
    assert {why for _, _, why in breaks} == {"a call of builtin print"}
