"""What a program does with an object, and what is put into its class: attributes and calls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from tests.engines.native.replaced.running import LOG


class Feature(NamedTuple):
    """What a program does with an object, and what decides it.

    name: in the class.
    versions: what stands there, one after the other.
    """

    use: Callable[[Any, torch.Tensor], Any]
    name: str
    versions: tuple[Any, ...]


FEATURES: dict[str, Feature] = {}


def feature(name: str, *versions: Any) -> Callable[[Any], Any]:
    """The decorated function is what the program does."""

    def add(use: Any) -> Any:
        FEATURES[use.__name__] = Feature(use, name, versions)
        return use

    return add


def noting(word: str, result: Any = None) -> Any:
    """A method that notes that it was called."""

    def method(self: Any, *args: Any) -> Any:
        LOG.append(word)
        return result

    return method


@feature(
    "method",
    lambda self, x: x + 1,
    lambda self, x: x - 1,
    staticmethod(lambda x: x * 5),
    classmethod(lambda cls, x: x * 6),
    property(lambda self: torch.sin),
    functools.partial(torch.add, 3),
    torch.cos,
    4,
)
def calls_a_method(thing: Any, x: torch.Tensor) -> Any:
    return thing.method(x) * 2


@feature("method", lambda self, x: x + 1, lambda self, x: x - 1)
def calls_a_bound_method(thing: Any, x: torch.Tensor) -> Any:
    method = thing.method
    return [method(y) for y in (x, x * 2)]


@feature("attribute", 2, 3, 2.0, True, property(lambda self: 4), torch.ones(3), None, "text")
def reads_an_attribute(thing: Any, x: torch.Tensor) -> Any:
    return x + thing.attribute


@feature("attribute", 2, property(lambda self: 4), property(lambda self: 1 / 0))
def asks_for_an_attribute(thing: Any, x: torch.Tensor) -> Any:
    return x + getattr(thing, "attribute", 9), hasattr(thing, "attribute")


class Stores:
    """A data descriptor."""

    def __get__(self, thing: Any, cls: Any) -> int:
        return 70

    def __set__(self, thing: Any, value: Any) -> None:
        LOG.append(("set", value))

    def __delete__(self, thing: Any) -> None:
        LOG.append("deleted")


class Gives:
    """A descriptor that comes behind the object's own attributes."""

    def __get__(self, thing: Any, cls: Any) -> int:
        return 80


@feature("stored", property(lambda self: 40), Stores(), Gives(), 50)
def reads_what_the_object_has(thing: Any, x: torch.Tensor) -> Any:
    return x + thing.stored


@feature("fresh", property(lambda self: 40), Stores(), Gives(), 50)
def stores_an_attribute(thing: Any, x: torch.Tensor) -> Any:
    thing.fresh = 3
    return x + thing.fresh


@feature("other", Stores(), Gives(), 50)
def deletes_an_attribute(thing: Any, x: torch.Tensor) -> Any:
    thing.other = 3
    y = x + 1
    del thing.other
    return y, hasattr(thing, "other")


@feature("__getattr__", lambda self, name: 11, lambda self, name: 12)
def reads_what_is_missing(thing: Any, x: torch.Tensor) -> Any:
    return x + thing.lacking


@feature("__getattr__", lambda self, name: 11, lambda self, name: 12)
def asks_for_what_is_missing(thing: Any, x: torch.Tensor) -> Any:
    return x + getattr(thing, "lacking", 9), hasattr(thing, "lacking")


def _reads_otherwise(number: int) -> Any:
    def __getattribute__(self: Any, name: str) -> Any:
        if name == "stored":
            return number
        return type(self).__mro__[-1].__getattribute__(self, name)

    return __getattribute__


@feature("__getattribute__", _reads_otherwise(21), _reads_otherwise(22))
def reads_by_getattribute(thing: Any, x: torch.Tensor) -> Any:
    return x + thing.stored


def _stores_otherwise(word: str) -> Any:
    def __setattr__(self: Any, name: str, value: Any) -> None:
        LOG.append((word, name))
        object.__setattr__(self, name, value)

    return __setattr__


@feature("__setattr__", _stores_otherwise("one"), _stores_otherwise("two"))
def stores_by_setattr(thing: Any, x: torch.Tensor) -> Any:
    thing.fresh = 3
    return x + 1


@feature("__delattr__", noting("one"), noting("two"))
def deletes_by_delattr(thing: Any, x: torch.Tensor) -> Any:
    thing.fresh = 3
    del thing.fresh
    return x + 1


@feature("__call__", lambda self, *args: args[-1] + 1, lambda self, *args: args[-1] - 1)
def calls(thing: Any, x: torch.Tensor) -> Any:
    return thing(x) * 2


@feature("__call__", lambda self, *args: args[-1] + 1)
def asks_whether_it_can_be_called(thing: Any, x: torch.Tensor) -> Any:
    return x + callable(thing)


@feature("__len__", lambda self: 3, lambda self: 0)
def measures(thing: Any, x: torch.Tensor) -> Any:
    return x + len(thing)


@feature("__len__", lambda self: 3, lambda self: 0)
def asks_for_truth_by_length(thing: Any, x: torch.Tensor) -> Any:
    return x + 1 if thing else x - 1


@feature("__bool__", lambda self: True, lambda self: False)
def asks_for_truth(thing: Any, x: torch.Tensor) -> Any:
    return x + 1 if thing else x - 1, not thing, bool(thing)


@feature("__eq__", lambda self, other: True, lambda self, other: False)
def compares(thing: Any, x: torch.Tensor) -> Any:
    return x + 1, thing == 3, thing != 3


@feature("__eq__", lambda self, other: True, lambda self, other: False)
def looks_in_a_list(thing: Any, x: torch.Tensor) -> Any:
    return x + 1, 3 in [thing], [thing].count(4), (thing,) == (5,)


@feature("__ne__", lambda self, other: True, lambda self, other: False)
def compares_for_difference(thing: Any, x: torch.Tensor) -> Any:
    return x + 1, thing != 3


@feature("__hash__", lambda self: 3, lambda self: 4, None)
def hashes(thing: Any, x: torch.Tensor) -> Any:
    table = {thing: 1}
    return x + table[thing], thing in {thing}


@feature("__lt__", lambda self, other: True, lambda self, other: False)
def orders(thing: Any, x: torch.Tensor) -> Any:
    return x + 1 if thing < thing else x - 1
