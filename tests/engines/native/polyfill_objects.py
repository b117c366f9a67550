"""What the cases of `polyfill_cases` are given: objects that tell when they are asked."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

log: list[object] = []
"""What was asked of the objects below, in order."""
inf, nan = math.inf, math.nan


class Int(int):
    """An int as any."""


class Float(float):
    """A float as any."""


class Text(str):
    """A text as any."""


class Row(list[Any]):
    """A list as any."""


class Num:
    """Takes part in each operator, and says so. The name tells equal ones apart."""

    def __init__(self, value: float, name: str = "") -> None:
        self.value, self.name = value, name

    def __repr__(self) -> str:
        return f"Num({self.value}, {self.name})"

    def _told(self, operation: str, other: object) -> Any:
        log.append((operation, self.value, getattr(other, "value", other)))
        return getattr(other, "value", other)

    def __add__(self, other: object) -> Num:
        return Num(self.value + self._told("add", other), self.name)

    def __radd__(self, other: object) -> Num:
        return Num(self._told("radd", other) + self.value, self.name)

    def __mul__(self, other: object) -> Num:
        return Num(self.value * self._told("mul", other), self.name)

    def __rmul__(self, other: object) -> Num:
        return Num(self._told("rmul", other) * self.value, self.name)

    def __lt__(self, other: object) -> bool:
        return bool(self.value < self._told("lt", other))

    def __gt__(self, other: object) -> bool:
        return bool(self.value > self._told("gt", other))

    def __eq__(self, other: object) -> bool:
        return bool(self.value == self._told("eq", other))

    def __hash__(self) -> int:
        log.append(("hash", self.value))
        return int(self.value)

    def __bool__(self) -> bool:
        log.append(("bool", self.value))
        return bool(self.value)

    def __call__(self) -> None:
        log.append("call")


class InPlace(Num):
    """Also adds in place, which nothing here may ask for."""

    def __iadd__(self, other: object) -> Any:
        log.append(("iadd", self.value))
        return self

    def __imul__(self, other: object) -> Any:
        log.append(("imul", self.value))
        return self


class Says:
    """Answers what it was made with when it is compared, and is called in vain."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def __eq__(self, other: object) -> Any:
        log.append("eq")
        return self.answer

    def __lt__(self, other: object) -> Any:
        log.append("lt")
        return self.answer

    def __gt__(self, other: object) -> Any:
        log.append("gt")
        return self.answer

    __hash__ = None  # type: ignore[assignment]  # as a class that has __eq__ alone

    def __call__(self) -> None:
        log.append("call")


class Index:
    """Is a number by `__index__` alone."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        log.append(("index", self.value))
        return self.value


class Values:
    """An iterator that tells when it is asked; an exception among the values is raised."""

    def __init__(self, values: tuple[object, ...], name: str) -> None:
        self.values, self.name, self.at = values, name, 0

    def __iter__(self) -> Values:
        return self

    def __next__(self) -> object:
        log.append(("next", self.name, self.at))
        if self.at == len(self.values):
            raise StopIteration
        value = self.values[self.at]
        self.at += 1
        if isinstance(value, Exception):
            raise value
        return value


class Copied(Values):
    """Also can be copied."""

    def __copy__(self) -> Copied:
        log.append(("copy", self.at))
        made = Copied(self.values, "copy")
        made.at = self.at
        return made


class Given:
    """An iterable, or an iterator that says so each time, which tells when it is asked."""

    def __init__(self, *values: object, name: str = "") -> None:
        self.values, self.name = values, name
        self.iterator = Values(values, name)

    def __iter__(self) -> Values:
        log.append(("iter", self.name))
        return self.iterator

    def __next__(self) -> object:
        return next(self.iterator)


class Sized(Given):
    """An iterable with a length."""

    def __len__(self) -> int:
        log.append("len")
        return len(self.values)


class Hinted(Given):
    """An iterable with a hint of its length."""

    def __length_hint__(self) -> Any:
        log.append("hint")
        return self.values[0]


class Items:
    """Has items by index, and no `__iter__`."""

    def __init__(self, *values: object) -> None:
        self.values = values

    def __len__(self) -> int:
        log.append("len")
        return len(self.values)

    def __getitem__(self, index: int) -> object:
        log.append(("item", index))
        value = self.values[index]
        if isinstance(value, Exception):
            raise value
        return value


class Plain:
    """An object whose state is in its dictionary."""

    def __init__(self, **fields: object) -> None:
        vars(self).update(fields)

    def __repr__(self) -> str:
        return f"Plain({vars(self)})"

    def method(self, *args: object, **kwargs: object) -> object:
        """Says what it is given."""
        log.append("method")
        return args, kwargs


class Pair(NamedTuple):
    """Matched by position."""

    a: object
    b: object


class Lazy:
    """Has a cached property."""

    @functools.cached_property
    def found(self) -> list[int]:
        """Made once."""
        log.append("found")
        return [len(log)]

    @functools.cached_property
    def failing(self) -> object:
        """Never made."""
        raise ValueError("not found")


class Slotted:
    """Has no dictionary."""

    __slots__ = ("a",)
    found = Lazy.__dict__["found"]


def told(value: Any) -> Any:
    """The value, and that it was asked."""
    log.append(("told", value))
    return value


def less_one(value: Any) -> Any:
    """Is also asked of what has no number."""
    log.append(("less", value))
    return value - 1


def fails(*args: object) -> Any:
    """Raises."""
    log.append(("fails", args))
    raise ValueError("no")


def stops(*args: object) -> Any:
    """Raises what ends iterators."""
    log.append(("stops", args))
    raise StopIteration(5)


def joined(*args: object) -> Any:
    """What it was given."""
    log.append(("joined", args))
    return args


def take(iterator: Iterator[Any], count: int) -> Any:
    """The next values, and the iterator's end where it is reached."""
    return [next(iterator, "end") for _ in range(count)]


def all_of(iterators: Iterable[Iterable[Any]]) -> Any:
    """What each of some iterables has, after another."""
    return [list(each) for each in iterators]


def in_turn(iterators: Iterable[Iterator[Any]], count: int) -> Any:
    """The first values of some iterators, one of each after another."""
    iterators = list(iterators)
    return [[next(each, "end") for each in iterators] for _ in range(count)]


def changed(value: Any, change: Callable[[Any], object]) -> Any:
    """The value after a change, and what that gives."""
    return change(value), value


def documented(a: int, b: float = 1.5) -> str:
    """Says what it is."""
    return f"{a}{b}"


documented.note = [1]  # type: ignore[attr-defined]  # functions have dictionaries


@functools.wraps(documented)
def wrapper(*args: Any) -> Any:
    """Hides the other."""
    return documented(*args)


@functools.wraps(wrapper)
def twice_wrapped(*args: Any) -> Any:
    """Hides both."""
    return wrapper(*args)


class NamedInfo(NamedTuple):
    """What a cache says of itself."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


def matched_keys(subject: Any, keys: tuple[Any, Any]) -> Any:
    """The values of a dictionary that a pattern of two keys takes."""
    named = Plain(a=keys[0], b=keys[1])
    match subject:
        case {named.a: a, named.b: b}:
            return a, b
    return None


def matched_class(subject: Any, kind: Any, count: int, names: tuple[str, ...]) -> Any:
    """What a pattern of a class takes."""
    match count, names:
        case 0, ():
            match subject:
                case kind():
                    return ()
        case 1, ():
            match subject:
                case kind(a):
                    return (a,)
        case 2, ():
            match subject:
                case kind(a, b):
                    return a, b
        case 0, ("a",):
            match subject:
                case kind(a=a):
                    return (a,)
        case 1, ("b",):
            match subject:
                case kind(a, b=b):
                    return a, b
        case 1, ("a",):
            match subject:
                case kind(a, a=b):
                    return a, b
        case _:
            raise AssertionError(names)
    return None


def length_asked(given: Any) -> None:
    """What a list asks of it before anything else."""
    operator.length_hint(given)


class Measured:
    """Has a length that cannot be had."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __len__(self) -> int:
        log.append("len")
        raise self.error

    def __length_hint__(self) -> int:
        log.append("hint")
        raise self.error

    def __iter__(self) -> Iterator[int]:
        return iter((1, 2))


class Guessed(Measured):
    """Has only a hint, that cannot be had."""

    __len__ = None  # type: ignore[assignment]  # nothing has a length by it


class Named:
    """Says itself what it is matched by."""

    __match_args__: Any = ("a", "b")

    def __init__(self, a: object) -> None:
        self.a = a


class ListNamed(Named):
    """Says it wrongly."""

    __match_args__: Any = ["a"]  # noqa: RUF012  # nobody changes it


class Computed:
    """Has an attribute that cannot be computed."""

    __match_args__ = ("a",)

    @property
    def a(self) -> object:
        """Raises."""
        log.append("a")
        raise ValueError("no a")


ONE, OTHER = Plain(a=1), Plain(a=1)
