"""Keys of dictionaries that are objects: frozen dataclasses, members with a hash of their own, and
methods of dictionaries that are called by their names, or have other names in a class."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.engines.native.harness import check


@dataclasses.dataclass(frozen=True)
class Key:
    name: str
    size: int = 0


@dataclasses.dataclass(frozen=True)
class Wider(Key):
    more: Any = None


@dataclasses.dataclass(frozen=True)
class Partly:
    a: int
    b: int = dataclasses.field(default=0, compare=False)


class Member(enum.Enum):
    X = 1
    Y = 2

    def __hash__(self) -> int:
        return 5


class Word(enum.StrEnum):
    LOW = "low"
    HIGH = "high"


class Text(str, enum.Enum):  # noqa: UP042  # its hash is that of its name
    LOW = "low"
    HIGH = "high"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


KNOWN: Any = {Key("a", 1): 3.0, Key("b"): 2.0, "text": 4, (1, 2): 5}
OF_MEMBERS: Any = {Member.X: 2.0}
OF_TEXTS: Any = {Word.LOW: 2, "other": 3, Text.HIGH: 4, Level.LOW: 5, 7: 6}


class Attributes(dict[str, Any]):
    __getattr__: Any = dict.__getitem__
    __setattr__: Any = dict.__setitem__
    __delattr__: Any = dict.__delitem__


class Lenient(dict[str, Any]):
    __getattr__: Any = dict.get


SETTINGS: Any = Attributes(a=2, b=Attributes(c=3))


def of_subclasses(x: Any) -> Any:
    made = {Key("a"): 1, Wider("a"): 2, Wider("a", 0, Key("q")): 3}
    made[Wider("a", more=Key("q"))] += 10
    return x * made[Key("a")], [*made.values()], Key("z") in made, made.get(Key("a", 5), 7)


def that_are_equal(x: Any) -> Any:
    made = {Partly(1, 2): x}
    made[Partly(1, 3)] = x + 1
    (key,) = made
    return made[Partly(1)], key.b, {Key("a"): 1} == {Key("a"): 1}, {Key("a"): 1} == {Key("b"): 1}


def in_tuples(x: Any) -> Any:
    made = {(Key("a"), 1): x, (Key("a"), 2): x + 1}
    return made[Key("a"), 1], (Key("b"), 1) in made, made


def of_a_global(x: Any) -> Any:
    KNOWN[Key("new")] = 4.0
    y = x * KNOWN[Key("new")] + KNOWN[Key("a", 1)] + KNOWN["text"] + KNOWN[1, 2]
    del KNOWN[Key("new")]
    return y, len(KNOWN), Key("c") in KNOWN


def returned(x: Any) -> Any:
    made = {Key("a", size): x * size for size in range(3)}
    made.pop(Key("a", 1))
    return made, [*made], made.pop(Key("q"), None)


def with_an_own_hash(x: Any) -> Any:
    return x * {Member.X: 3, Member.Y: 4}[Member.Y] + OF_MEMBERS[Member.X]


def members_that_are_texts_or_numbers(x: Any) -> Any:
    y = x * OF_TEXTS[Word.LOW] + OF_TEXTS["low"] + OF_TEXTS[1] + OF_TEXTS[Level.LOW]
    found = [
        Text.HIGH in OF_TEXTS,
        "high" in OF_TEXTS,
        Word.HIGH in OF_TEXTS,
        Level.HIGH in OF_TEXTS,
    ]
    OF_TEXTS[Level.HIGH] = 8
    return y, found, [*OF_TEXTS], OF_TEXTS.pop(2), OF_TEXTS.get(Text.LOW)


def methods_by_name(x: Any) -> Any:
    made: dict[str, Any] = {}
    made.__setitem__("a", x)
    store = made.__setitem__
    store("b", x * 2)
    made.__delitem__("a")
    dict.__setitem__(made, "c", 1)
    items = [1, 2]
    items.__setitem__(0, x)
    items.__delitem__(1)
    return made, items, dict.__len__(made), [*made.__iter__()], list.__getitem__(items, 0)


def by_other_names(x: Any) -> Any:
    made: Any = Attributes(a=1, b=Attributes(c=2))
    lenient: Any = Lenient(a=1)
    made.d = 5
    del made.a
    SETTINGS.n = SETTINGS.get("n", 0) + 1
    return x * made.b.c + made.d, dict(made), lenient.z, SETTINGS.b.c, SETTINGS.pop("n")


def missing_by_another_name(x: Any) -> Any:
    made: Any = Attributes(a=1)
    try:
        return x * made.z
    except KeyError as error:
        return x + 1, error.args


@pytest.mark.parametrize(
    "f",
    [
        of_subclasses, that_are_equal, in_tuples, of_a_global, returned, with_an_own_hash,
        members_that_are_texts_or_numbers, methods_by_name, by_other_names, missing_by_another_name,
    ],
)  # fmt: skip
def test_a_key_is_found(f: Callable[[Any], Any]) -> None:
    assert not check(f, torch.ones(3)).graph_break_count


def test_a_key_that_is_given_is_looked_at_at_each_call() -> None:
    def f(x: Any, key: Key, member: Member) -> Any:
        return x * {Key("a", 1): 2, Key("b"): 3}.get(key, 4) + {Member.X: 1, Member.Y: 2}[member]

    from stepper import native

    captured = native.optimize("eager")(f)
    x = torch.ones(3)
    for key in (Key("a", 1), Key("b"), Key("a", 2), Wider("b"), Key("a", 1)):
        for member in Member:
            assert torch.equal(captured(x, key, member), f(x, key, member))


class Logging(enum.Enum):
    X = 1

    def __hash__(self) -> int:
        ASKED.append(self.value)
        return 5


class AllEqual(enum.Enum):
    A = 1
    B = 2

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


ASKED: list[int] = []


@dataclasses.dataclass(frozen=True)
class OwnHash:
    a: int

    def __hash__(self) -> int:
        ASKED.append(self.a)
        return 1


def asked(x: Any) -> Any:
    before = len(ASKED)
    y = x * {Logging.X: 3}[Logging.X] + {OwnHash(1): 3}[OwnHash(1)]
    return y, len(ASKED) - before


def members_that_are_equal(x: Any) -> Any:
    return x * {AllEqual.A: 3}.get(AllEqual.B, 4)


def that_cannot_be_hashed(x: Any) -> Any:
    try:
        return {Wider("a", 1, [2]): x}
    except TypeError as error:
        return x + 1, str(error)


@pytest.mark.parametrize("f", [asked, members_that_are_equal, that_cannot_be_hashed])
def test_a_hash_is_asked_for_as_often_as_in_eager(f: Callable[[Any], Any]) -> None:
    check(f, torch.ones(3))


TYPED = """
@dataclasses.dataclass(frozen=True)
class Alike:
    a: int

    def __eq__(self, other):
        return self.a % 10 == other.a % 10

    def __hash__(self):
        return self.a % 10

def f(x):
    return x * {Alike(1): 3}.get(Alike(11), 4)
"""


def test_what_a_program_without_a_file_says_is_equal_is_so() -> None:
    """`dataclasses` gives what it writes the name of no file, and so does Python to a program that
    is typed in."""
    names = dict(vars(dataclasses), dataclasses=dataclasses, __name__=__name__)
    exec(compile(TYPED, "<string>", "exec"), names)
    check(names["f"], torch.ones(3))
