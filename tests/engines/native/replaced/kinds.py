"""Kinds of classes: an object of each, and the class in which something is replaced."""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class Made(NamedTuple):
    """An object of a class made for one case.

    owner: the class in which something is replaced: the object's, a base of it, or its metaclass.
    """

    value: Any
    owner: Any


KINDS: dict[str, Callable[[], Made]] = {}


def kind(make: Callable[[], Made]) -> Callable[[], Made]:
    """Add a kind of class."""
    KINDS[make.__name__] = make
    return make


def _with_attribute(value: Any, owner: Any = None) -> Made:
    value.stored = 2
    return Made(value, type(value) if owner is None else owner)


@kind
def plain() -> Made:
    class Thing:
        def __init__(self, number: int = 5) -> None:
            self.number = number

    return _with_attribute(Thing())


@kind
def slots() -> Made:
    class Thing:
        __slots__ = ("fresh", "other", "stored")

    return _with_attribute(Thing())


@kind
def inherited() -> Made:
    class Base:
        pass

    class Thing(Base):
        pass

    return _with_attribute(Thing(), Base)


@kind
def second_base() -> Made:
    class First:
        pass

    class Second:
        pass

    class Thing(First, Second):
        pass

    return _with_attribute(Thing(), Second)


@kind
def with_metaclass() -> Made:
    class Meta(type):
        pass

    class Thing(metaclass=Meta):
        pass

    return _with_attribute(Thing())


@kind
def abstract() -> Made:
    class Thing(abc.ABC):  # as programs have them
        pass

    return _with_attribute(Thing())


@kind
def generic() -> Made:
    T = typing.TypeVar("T")

    class Thing(typing.Generic[T]):
        pass

    return _with_attribute(Thing())


@kind
def module() -> Made:
    class Thing(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 3

    return _with_attribute(Thing())


@kind
def module_base() -> Made:
    class Base(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(3))

    class Thing(Base):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

    return _with_attribute(Thing(), Base)


@kind
def module_of_torch() -> Made:
    return _with_attribute(torch.nn.Linear(3, 3, bias=False), torch.nn.Linear)


@kind
def every_module() -> Made:
    return _with_attribute(torch.nn.Linear(3, 3, bias=False), torch.nn.Module)


@kind
def module_list() -> Made:
    class Thing(torch.nn.ModuleList):
        pass

    return _with_attribute(Thing([torch.nn.ReLU(), torch.nn.Tanh()]))


@kind
def dictionary() -> Made:
    class Thing(dict[Any, Any]):
        pass

    return _with_attribute(Thing(a=1, b=2))


@kind
def ordered_dictionary() -> Made:
    class Thing(collections.OrderedDict[Any, Any]):
        pass

    return _with_attribute(Thing(a=1, b=2))


@kind
def default_dictionary() -> Made:
    class Thing(collections.defaultdict[Any, Any]):
        pass

    return _with_attribute(Thing(int, a=1))


@kind
def list_() -> Made:
    class Thing(list[Any]):
        pass

    return _with_attribute(Thing([1, 2]))


@kind
def tuple_() -> Made:
    class Thing(tuple[Any, ...]):
        pass

    return _with_attribute(Thing([1, 2]))


@kind
def set_() -> Made:
    class Thing(set[Any]):
        pass

    return _with_attribute(Thing([1, 2]))


@kind
def number() -> Made:
    class Thing(int):
        pass

    return _with_attribute(Thing(4))


@kind
def text() -> Made:
    class Thing(str):
        pass

    return _with_attribute(Thing("four"))


@kind
def named_tuple() -> Made:
    Thing = collections.namedtuple("Thing", ["a", "b"])
    return Made(Thing(1, 2), Thing)


@kind
def named_tuple_subclass() -> Made:
    class Thing(collections.namedtuple("Thing", ["a", "b"])):
        pass

    return _with_attribute(Thing(1, 2))


@kind
def data_class() -> Made:
    @dataclasses.dataclass
    class Thing:
        a: int = 1

    return _with_attribute(Thing())


@kind
def frozen_data_class() -> Made:
    @dataclasses.dataclass(frozen=True)
    class Thing:
        stored: int = 2

    return Made(Thing(), Thing)


@kind
def enumeration() -> Made:
    class Thing(enum.Enum):
        A = 1
        B = 2

    return _with_attribute(Thing.A)


@kind
def enumeration_of_numbers() -> Made:
    class Thing(enum.IntEnum):
        A = 1
        B = 2

    return _with_attribute(Thing.A)


@kind
def exception() -> Made:
    class Thing(ValueError):
        pass

    return _with_attribute(Thing("it"))


@kind
def tensor() -> Made:
    class Thing(torch.Tensor):
        pass

    return _with_attribute(torch.ones(3).as_subclass(Thing))


@kind
def partial() -> Made:
    class Thing(functools.partial[Any]):
        pass

    return _with_attribute(Thing(torch.add, 1))


@kind
def namespace() -> Made:
    class Thing(types.SimpleNamespace):
        pass

    return _with_attribute(Thing())


@kind
def metaclass() -> Made:
    class Meta(type):
        pass

    class Thing(metaclass=Meta):
        pass

    return _with_attribute(Thing, Meta)


@kind
def class_() -> Made:
    class Thing:
        pass

    Thing.stored = 2
    return Made(Thing, Thing)


@kind
def base_of_the_class() -> Made:
    class Base:
        pass

    class Thing(Base):
        pass

    Thing.stored = 2
    return Made(Thing, Base)
