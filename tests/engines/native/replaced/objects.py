"""Properties, descriptors, slots, members and methods that Python calls by itself."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import pickle
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

import torch

from tests.engines.native.replaced.running import (
    LOG,
    case,
    swapped,
)


@case
def property_that_is_cached() -> Iterator[Any]:
    class Thing:
        by = 2

        @functools.cached_property
        def found(self) -> int:
            return self.by

    thing = Thing()
    yield lambda x: x + thing.found
    Thing.by = 3
    yield
    thing.__dict__.pop("found", None)
    yield
    thing.__dict__["found"] = 9
    yield


@case
def subclasses_of_a_class() -> Iterator[Any]:
    class Base:
        by = 1

    class One(Base):
        by = 2

    class Other:
        by = 3

    def asks(x: Any) -> Any:
        found = Base.__subclasses__()
        while found and found[-1].by > 9:
            found.pop()
        return x + sum(each.by for each in found), [each.__name__ for each in found]

    yield asks
    made = [type("Two", (Base,), {"by": 4})]
    yield
    made[0].by = 10
    yield
    made.append(type("Three", (One,), {"by": 5}))
    yield
    made.clear()
    gc.collect()
    yield
    type("Four", (Base,), {"by": 6})
    gc.collect()
    yield
    One.__bases__ = (Other,)
    yield


@case
def what_is_pickled() -> Iterator[Any]:
    def key(**named: Any) -> bytes:
        return pickle.dumps(named)

    yield lambda x: (x + 1, key(), {key(): 1})
    with swapped(pickle, "dumps", lambda value: b"other"):
        yield
    yield


@case
def number_of_a_class() -> Iterator[Any]:
    class Meta(type):
        count = 4

    class Thing(metaclass=Meta):
        by = 2

        def __len__(self) -> int:
            return self.by

    thing = Thing()
    yield lambda x: (x * thing.by + Thing.by, len(thing), [*range(Thing.by)], Thing.count)
    for number in (3, 5, True, 2.0, 1, 0, -1):
        Thing.by = number
        yield
    Thing.__len__ = lambda self: 9
    yield
    Meta.count = 5
    yield
    Meta.count = 6
    yield


@case
def descriptor_of_ones_own() -> Iterator[Any]:
    class Doubled:
        def __get__(self, owner: Any, kind: Any = None) -> Any:
            return owner.by * 2

    class Thing:
        by = 2
        found = Doubled()

    thing = Thing()
    yield lambda x: x + thing.found
    Thing.by = 3
    yield
    Doubled.__get__ = lambda self, owner, kind=None: 9
    yield
    thing.__dict__["found"] = 11
    yield
    Doubled.__set__ = lambda self, owner, value: None
    yield
    del Thing.found
    yield


@case
def class_method() -> Iterator[Any]:
    class Base:
        by = 2

        @classmethod
        def make(cls, by: int) -> int:
            return cls.by + by

    class Thing(Base):
        @classmethod
        def make(cls, by: int) -> int:
            return super().make(by) * 3

    thing = Thing()
    yield lambda x: (x + Thing.make(1), thing.make(2))
    Thing.by = 5
    yield
    Base.make = classmethod(lambda cls, by: by * 10)
    yield
    Thing.make = lambda by, more=0: 7
    yield
    del Thing.make
    yield


@case
def attribute_by_a_method_of_the_class() -> Iterator[Any]:
    class Thing:
        def __getattr__(self, name: str) -> Any:
            if name == "found":
                return 3
            raise AttributeError(name)

    thing = Thing()
    yield lambda x: (x + thing.found, hasattr(thing, "other"))
    thing.other = 4
    yield
    Thing.found = 5
    yield
    del Thing.found
    Thing.__getattr__ = lambda self, name: 6
    yield


@case
def operators_of_two_classes() -> Iterator[Any]:
    class Left:
        def __mul__(self, other: Any) -> Any:
            return NotImplemented

    class Right:
        def __rmul__(self, other: Any) -> Any:
            return 3

        def __radd__(self, other: Any) -> Any:
            return 4

    left, right = Left(), Right()
    yield lambda x: (x + left * right, 1 + right, left == right)
    Right.__rmul__ = lambda self, other: 5
    yield
    Left.__mul__ = lambda self, other: 6
    yield
    Right.__radd__ = lambda self, other: 8
    yield
    Right.__eq__ = lambda self, other: True
    yield


@case
def iterator_of_ones_own() -> Iterator[Any]:
    class Counting:
        def __init__(self) -> None:
            self.count = 0

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> int:
            self.count += 1
            if self.count > 2:
                raise StopIteration
            return self.count

    yield lambda x: [x + each for each in Counting()]
    Counting.__iter__ = lambda self: iter([7])
    yield
    del Counting.__iter__
    Counting.__getitem__ = lambda self, index: [4, 5][index]
    yield


@case
def property_whose_functions_change() -> Iterator[Any]:
    class Thing:
        by = 2

        @property
        def found(self) -> int:
            return self.by

    thing = Thing()
    yield lambda x: x + thing.found
    Thing.by = 3
    yield
    Thing.found.fget.__code__ = (lambda self: 6).__code__
    yield
    Thing.found = Thing.found.getter(lambda self: 7)
    yield


@case
def descriptor_whose_class_changes() -> Iterator[Any]:
    class Descriptor:
        pass

    class Thing:
        found = Descriptor()

    thing = Thing()
    thing.__dict__["found"] = 4
    yield lambda x: (x + 1, thing.found, Thing.found)
    Descriptor.__get__ = lambda self, thing, cls: 5
    yield
    Descriptor.__set__ = lambda self, thing, value: None
    yield
    del Descriptor.__get__
    yield


@case
def class_attribute_whose_class_gets_a_getter() -> Iterator[Any]:
    class Plain:
        by = 3

    class Thing:
        found = Plain()

    thing = Thing()
    yield lambda x: x + thing.found.by
    Plain.__get__ = lambda self, thing, cls: types.SimpleNamespace(by=8)
    yield
    del Plain.__get__
    yield


@case
def dictionary_of_an_object_replaced() -> Iterator[Any]:
    class Thing:
        by = 1

    thing = Thing()
    thing.by = 2
    yield lambda x: (x + thing.by, "by" in thing.__dict__, sorted(vars(thing)))
    thing.__dict__ = {"by": 4}
    yield
    thing.__dict__ = {}
    yield
    thing.__dict__ = collections.OrderedDict(by=5)
    yield


@case
def slots_that_are_emptied() -> Iterator[Any]:
    class Thing:
        __slots__ = ("by",)

    thing = Thing()
    thing.by = 2
    yield lambda x: (x + getattr(thing, "by", 8), hasattr(thing, "by"))
    del thing.by
    yield
    thing.by = 4
    yield


@case
def target_of_a_weak_reference() -> Iterator[Any]:
    class Thing:
        by = 2

    held = [Thing()]
    reference = weakref.ref(held[0])
    table: Any = weakref.WeakValueDictionary(a=held[0])
    yield lambda x: (x + (5 if reference() is None else reference().by), len(table), "a" in table)
    held.clear()
    gc.collect()
    yield


@case
def weak_reference_to_a_parameter() -> Iterator[Any]:
    held = [torch.nn.Parameter(torch.ones(3))]
    reference = [weakref.ref(held[0])]
    yield lambda x: x + (5 if reference[0]() is None else reference[0]().detach())
    held[0].data.add_(3)
    yield
    held[0] = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
    gc.collect()
    yield
    reference[0] = weakref.ref(held[0])
    yield


@case
def members_of_an_enumeration() -> Iterator[Any]:
    import enum

    class Color(enum.Enum):
        RED = 1
        BLUE = 2

    yield lambda x: (x + Color.RED.value, Color(1) is Color.RED, len(Color), Color["BLUE"].name)
    Color.RED._value_ = 5
    yield
    Color._value2member_map_[1] = Color.BLUE
    yield
    Color._member_map_["BLUE"] = Color.RED
    yield


@case
def fields_of_a_data_class() -> Iterator[Any]:
    import dataclasses

    @dataclasses.dataclass
    class Thing:
        a: int = 1

    thing = Thing()
    yield lambda x: (x + thing.a, [f.name for f in dataclasses.fields(thing)], thing == Thing(),
                     dataclasses.asdict(thing), dataclasses.replace(thing, a=4).a)  # fmt: skip
    Thing.a = 3
    yield
    thing.a = 5
    yield
    Thing.__dataclass_fields__ = {}
    yield


@case
def context_variable() -> Iterator[Any]:
    import contextvars

    number = contextvars.ContextVar("number", default=2)
    yield lambda x: x + number.get() + number.get(4)
    token = number.set(5)
    yield
    number.reset(token)
    yield


@case
def context_manager_of_the_program() -> Iterator[Any]:
    class Manager:
        def __enter__(self) -> int:
            return 2

        def __exit__(self, *args: Any) -> None:
            LOG.append("left")

    manager = Manager()

    def program(x: Any) -> Any:
        with manager as by:
            return x * by

    yield program
    Manager.__enter__ = lambda self: 3
    yield
    Manager.__exit__ = lambda self, *args: LOG.append("gone")
    yield
    del Manager.__exit__
    yield


@case
def iterator_that_is_taken_up_again() -> Iterator[Any]:
    items: Any = [1, 2, 3]
    taken = 0

    def program(x: Any) -> Any:
        left = iter(items)
        for _ in range(taken):
            next(left, None)
        print(end="")  # a resume function is given the iterator
        return [x + each for each in left], next(left, "none")

    yield program
    taken = 1
    yield
    items.append(7)
    yield
    taken = 9
    yield
    taken, items = 1, (4, 5)
    yield
    items = range(3, 6)
    yield
    items = [torch.ones(1), 2]
    yield


@case
def iterator_of_the_program() -> Iterator[Any]:
    class Counts:
        def __init__(self) -> None:
            self.left = 3

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> int:
            self.left -= 1
            if not self.left:
                raise StopIteration
            return self.left

    def program(x: Any) -> Any:
        for each in Counts():
            x = x + each
        return x

    yield program
    Counts.__next__ = lambda self: next(iter(()))
    yield
    Counts.__iter__ = lambda self: iter((4, 5))
    yield


@case
def generator_function_replaced() -> Iterator[Any]:
    def numbers() -> Any:
        yield from (1, 2)

    def others() -> Any:
        yield 7

    yield lambda x: x + sum(numbers())
    numbers.__code__ = others.__code__
    yield


@case
def exception_classes() -> Iterator[Any]:
    class Base(Exception):
        pass

    class First(Base):
        pass

    class Second(First):
        pass

    def program(x: Any) -> Any:
        try:
            raise Second("it")
        except First as error:
            return x + 1, str(error), error.args, getattr(error, "more", None)

    yield program
    First.more = 3
    yield
    Second.__str__ = lambda self: "other"
    yield
    Second.__init__ = lambda self, text: Exception.__init__(self, 5)
    yield
    Second.__bases__ = (Base,)
    yield


@case
def display_hook_and_streams() -> Iterator[Any]:
    import io

    stream = io.StringIO()

    def program(x: Any) -> Any:
        stream.truncate(0)
        print("text", file=stream)
        return x + 1, sys.stdout is stream

    yield program
    with contextlib.redirect_stdout(stream):
        yield
    yield


@case
def scripting_and_tracing() -> Iterator[Any]:
    def program(x: Any) -> Any:
        return x + torch.jit.is_tracing(), torch.jit.is_scripting()

    yield program
    with swapped(torch.jit, "is_tracing", lambda: True):
        yield
    yield


@case
def attribute_that_is_deleted() -> Iterator[Any]:
    class Thing:
        y = 5

    thing = Thing()
    thing.__dict__.update(x=1, y=2)

    def program(x: Any) -> Any:
        del thing.y
        try:
            return x + thing.y, list(vars(thing))
        finally:
            thing.y = 2

    yield program
    Thing.y = 6
    yield
    del Thing.y
    yield
    Thing.y = property(lambda self: 3, lambda self, value: None, lambda self: LOG.append("deleted"))
    yield
    del Thing.y
    Thing.__delattr__ = lambda self, name: LOG.append(name)
    yield
    del Thing.__delattr__, thing.y
    yield


@case
def attributes_all_of_them() -> Iterator[Any]:
    class Thing:
        pass

    thing = Thing()
    thing.a, thing.b = 1, 2

    def program(x: Any) -> Any:
        return x + len(vars(thing)), list(thing.__dict__), sum(vars(thing).values())

    yield program
    thing.a = 4
    yield
    thing.c = 5
    yield
    del thing.a
    thing.a = 6
    yield
    Thing.b = property(lambda self: 9)
    yield


@case
def text_of_an_object() -> Iterator[Any]:
    class Thing:
        def __repr__(self) -> str:
            return "thing"

    thing = Thing()
    yield lambda x: (x + 1, f"{thing}", str(thing), repr(thing))
    Thing.__repr__ = lambda self: "another"
    yield
    Thing.__str__ = lambda self: "string"
    yield
    Thing.__format__ = lambda self, spec: "format"
    yield


@case
def method_of_a_named_tuple() -> Iterator[Any]:
    Point = collections.namedtuple("Point", "a b")
    point = Point(1, 2)
    yield lambda x: (x + point._replace(a=3).a, Point._make([1, 2]), point._asdict())
    Point._make = classmethod(lambda cls, items: 7)
    yield
    Point._replace = lambda self, a: Point(a + 1, a)
    yield
    Point._asdict = lambda self: {}
    yield


@case
def number_of_numpy() -> Iterator[Any]:
    import numpy

    class Thing:
        by: Any = numpy.float64(0.0)

    def program(x: Any) -> Any:
        by = Thing.by
        return x + by, float(by), type(by).__name__, int(numpy.sqrt(4.0)), int(numpy.prod([2, 3]))

    yield program
    for by in (-0.0, 0.0, float("nan"), 1.0):
        Thing.by = numpy.float64(by)
        yield
    Thing.by = numpy.float32(1)
    yield
    Thing.by = 1.0
    yield
    with swapped(numpy, "sqrt", lambda value: 7), swapped(numpy, "prod", len):
        yield
    with numpy.errstate(all="raise"):
        yield


@case
def number_of_ones_own() -> Iterator[Any]:
    class Number:
        def __float__(self) -> float:
            return 1.5

    number: Any = Number()
    yield lambda x: (x + float(number), abs(2))
    Number.__float__ = lambda self: 2.5
    yield


@case
def copy_of_an_object() -> Iterator[Any]:
    import copy
    import copyreg

    class Thing:
        a = 0

    thing: Any = Thing()
    thing.a, thing.b = 1, [2]

    def program(x: Any) -> Any:
        one, other = copy.copy(thing), copy.deepcopy(thing)
        return x + one.a + len(other.b), one.b is thing.b, other.b is thing.b

    yield program
    thing.b.append(3)
    yield
    thing.c = 4
    yield
    Thing.__getstate__ = lambda self: {"a": 5, "b": []}
    yield
    Thing.__setstate__ = lambda self, state: self.__dict__.update(state, a=6)
    yield
    Thing.__reduce_ex__ = lambda self, protocol: (Thing.__new__, (Thing,), {"a": 7, "b": []})
    yield
    Thing.__copy__ = Thing.__deepcopy__ = lambda self, memo=None: self
    yield
    del Thing.__copy__, Thing.__deepcopy__, Thing.__reduce_ex__, Thing.__getstate__
    del Thing.__setstate__
    Thing.__getnewargs__ = lambda self: LOG.append("asked") or ()
    yield
    del Thing.__getnewargs__
    Thing.__new__ = lambda cls: LOG.append("made") or object.__new__(cls)
    yield
    with swapped(copyreg, "__newobj__", lambda cls: thing):
        yield
    copyreg.pickle(Thing, lambda self: (Thing, ()))
    try:
        yield
    finally:
        del copyreg.dispatch_table[Thing]


@case
def text_of_a_class() -> Iterator[Any]:
    class Meta(type):
        pass

    class Thing(metaclass=Meta):
        pass

    yield lambda x: (x + 1, f"{Thing}", repr(type(x)), str(Thing))
    Thing.__qualname__ = "Other"
    yield
    Thing.__module__ = "elsewhere"
    yield
    Thing.__module__ = None  # type: ignore[assignment]  # whatever a program puts there
    yield
    Meta.__repr__ = lambda cls: "one"  # type: ignore[method-assign, assignment]  # of any kind
    yield
    Meta.__str__ = lambda cls: "another"  # type: ignore[method-assign, assignment]  # of any kind
    yield


@case
def text_of_a_set() -> Iterator[Any]:
    names, numbers = {"a", "b"}, frozenset({8, 0})
    yield lambda x: (x + 1, f"{names}", repr(names), str(numbers))
    names.add("c")
    yield
    names.discard("c")  # as it was, maybe in another order
    yield
    names.add(Shown("d"))
    yield
    numbers = frozenset({0, 8})
    yield


class Shown(str):
    """A text that shows itself otherwise."""

    def __repr__(self) -> str:
        return "shown"
