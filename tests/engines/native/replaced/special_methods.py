"""More of it: containers, operators, text, making objects, what torch and modules look for."""

from __future__ import annotations

import copy
import types
from typing import Any

import torch

from tests.engines.native.replaced.features import feature, noting
from tests.engines.native.replaced.running import LOG


@feature("__contains__", lambda self, item: True, lambda self, item: False)
def looks_for_an_item(thing: Any, x: torch.Tensor) -> Any:
    return x + 1 if 1 in thing else x - 1


@feature("__iter__", lambda self: iter((1, 2)), lambda self: iter((3,)))
def iterates(thing: Any, x: torch.Tensor) -> Any:
    for item in thing:
        x = x + (item if isinstance(item, int) else 1)
    return x


@feature("__iter__", lambda self: iter((1, 2)), lambda self: iter((3, 4)))
def unpacks(thing: Any, x: torch.Tensor) -> Any:
    first, second = thing
    return x + 1, first, second, [*thing]


@feature("__getitem__", lambda self, key: 5, lambda self, key: 6)
def takes_an_item(thing: Any, x: torch.Tensor) -> Any:
    return x + thing[0]


@feature("__getitem__", lambda self, key: 5, lambda self, key: 6)
def takes_an_item_by_name(thing: Any, x: torch.Tensor) -> Any:
    return x + thing["a"]


@feature("__missing__", lambda self, key: 5, lambda self, key: 6)
def takes_a_missing_item(thing: Any, x: torch.Tensor) -> Any:
    return x + thing["lacking"]


@feature("__setitem__", noting("one"), noting("two"))
def stores_an_item(thing: Any, x: torch.Tensor) -> Any:
    thing[0] = 7
    return x + 1


@feature("__delitem__", noting("one"), noting("two"))
def deletes_an_item(thing: Any, x: torch.Tensor) -> Any:
    thing[0] = 7
    del thing[0]
    return x + 1


@feature("get", lambda self, key, default=None: 5, lambda self, key, default=None: 6)
def gets(thing: Any, x: torch.Tensor) -> Any:
    return x + thing.get("a", 1)


@feature("items", lambda self: [("q", 1)], lambda self: [("r", 2)])
def goes_through_items(thing: Any, x: torch.Tensor) -> Any:
    for key, value in thing.items():
        x = x + (value if isinstance(value, int) else 1)
        LOG.append(key)
    return x


@feature("append", noting("one"), noting("two"))
def appends(thing: Any, x: torch.Tensor) -> Any:
    thing.append(1)
    return x + 1


@feature("a", property(lambda self: 8), 9)
def reads_a_field(thing: Any, x: torch.Tensor) -> Any:
    return x + thing.a


@feature("__exit__", noting("one", True), noting("two", False))
def enters(thing: Any, x: torch.Tensor) -> Any:
    with thing:
        x += 1
    return x * 2


@feature("__add__", lambda self, other: other + 1, lambda self, other: other + 2)
def adds(thing: Any, x: torch.Tensor) -> Any:
    return thing + x


@feature("__radd__", lambda self, other: other + 1, lambda self, other: other + 2)
def is_added(thing: Any, x: torch.Tensor) -> Any:
    return x + thing


@feature("__add__", lambda self, other: 1, lambda self, other: 2)
def adds_a_number(thing: Any, x: torch.Tensor) -> Any:
    return x, thing + 3


@feature("__iadd__", lambda self, other: 1, lambda self, other: 2)
def adds_in_place(thing: Any, x: torch.Tensor) -> Any:
    thing += 3
    return x, thing


@feature("__neg__", lambda self: 1, lambda self: 2)
def negates(thing: Any, x: torch.Tensor) -> Any:
    return x * -thing


@feature("__index__", lambda self: 1, lambda self: 2)
def indexes(thing: Any, x: torch.Tensor) -> Any:
    return x[thing], range(thing)


@feature("__int__", lambda self: 1, lambda self: 2)
def becomes_a_number(thing: Any, x: torch.Tensor) -> Any:
    return x + int(thing)


@feature("__float__", lambda self: 1.0, lambda self: 2.0)
def becomes_a_float(thing: Any, x: torch.Tensor) -> Any:
    return x + float(thing)


@feature("__str__", lambda self: "one", lambda self: "two")
def becomes_text(thing: Any, x: torch.Tensor) -> Any:
    return x + len(str(thing)[:3]), f"{thing}"[:3]


@feature("__repr__", lambda self: "one", lambda self: "two")
def is_shown(thing: Any, x: torch.Tensor) -> Any:
    return x + 1, repr(thing)[:3], f"{thing!r}"[:3]


@feature("__format__", lambda self, how: "one", lambda self, how: "two")
def is_formatted(thing: Any, x: torch.Tensor) -> Any:
    return x + 1, f"{thing}"[:3], format(thing)[:3]


def _class(thing: Any) -> Any:
    return thing if isinstance(thing, type) else type(thing)


@feature(
    "__init__", lambda self, *args: _initialize(self, 1), lambda self, *a: _initialize(self, 2)
)
def makes_another(thing: Any, x: torch.Tensor) -> Any:
    made = type(thing)(4)
    return x + 1, getattr(made, "number", None)


def _initialize(thing: Any, number: int) -> None:
    object.__setattr__(thing, "number", number)


def _makes_otherwise(word: str) -> Any:
    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        LOG.append(word)
        makes = (vars(each).get("__new__") for each in cls.__mro__)
        return next(each for each in makes if type(each) is types.BuiltinFunctionType)(cls)

    return __new__


@feature("__new__", _makes_otherwise("one"), _makes_otherwise("two"))
def makes_another_by_new(thing: Any, x: torch.Tensor) -> Any:
    type(thing)()
    return x + 1


@feature("__del__", noting("one"), noting("two"))
def lets_go_of_another(thing: Any, x: torch.Tensor) -> Any:
    made = type(thing)()
    del made
    return x + 1


@feature("__copy__", lambda self: 5, lambda self: 6)
def copies(thing: Any, x: torch.Tensor) -> Any:
    return x + 1, copy.copy(thing)


@feature("__match_args__", ("stored",), ("fresh",), ())
def matches(thing: Any, x: torch.Tensor) -> Any:
    cls = type(thing)
    match thing:
        case cls(2):
            return x + 1
        case _:
            return x - 1


@feature("__name__", "One", "Two")
def reads_its_name(thing: Any, x: torch.Tensor) -> Any:
    return x + 1, type(thing).__name__


@feature("__qualname__", "One", "Two")
def reads_its_qualified_name(thing: Any, x: torch.Tensor) -> Any:
    return x + 1, type(thing).__qualname__


@feature("__doc__", "one", "two")
def reads_its_documentation(thing: Any, x: torch.Tensor) -> Any:
    return x + 1, thing.__doc__, type(thing).__doc__


@feature("__class_getitem__", classmethod(lambda cls, key: 5), classmethod(lambda cls, key: 6))
def subscribes_its_class(thing: Any, x: torch.Tensor) -> Any:
    return x + type(thing)[int]


@feature("attribute", 2, 3, staticmethod(lambda: 5), property(lambda self: 4))
def reads_of_its_class(thing: Any, x: torch.Tensor) -> Any:
    found = type(thing).attribute
    return x + (found if isinstance(found, int) else 1)


@feature(
    "method", staticmethod(lambda x: x + 1), classmethod(lambda cls, x: x + 2), lambda x: x * 3
)
def calls_of_its_class(thing: Any, x: torch.Tensor) -> Any:
    return type(thing).method(x)


@feature("method", lambda self, x: x + 1, lambda self, x: x - 1, staticmethod(lambda x: x * 2))
def calls_by_super(thing: Any, x: torch.Tensor) -> Any:
    return super(type(thing), thing).method(x)


@feature(
    "__torch_function__",
    classmethod(lambda cls, function, types, args=(), kwargs=None: 5),
    classmethod(lambda cls, function, types, args=(), kwargs=None: 6),
)
def is_given_to_torch(thing: Any, x: torch.Tensor) -> Any:
    return torch.add(x, thing), x * 2


@feature("forward", lambda self, *args: args[-1] + 1, lambda self, *args: args[-1] - 1)
def calls_forward(thing: Any, x: torch.Tensor) -> Any:
    return thing(x) * 2


@feature("_call_impl", lambda self, *args: args[-1] + 1, lambda self, *args: args[-1] - 1)
def calls_the_implementation(thing: Any, x: torch.Tensor) -> Any:
    return thing(x) * 2


@feature("_wrapped_call_impl", lambda self, *args: args[-1] + 1, lambda self, *args: args[-1] - 1)
def calls_the_wrapped_implementation(thing: Any, x: torch.Tensor) -> Any:
    return thing(x) * 2


@feature("named_parameters", lambda self: [("p", 1)], lambda self: [("p", 2)])
def goes_through_parameters(thing: Any, x: torch.Tensor) -> Any:
    for _, parameter in thing.named_parameters():
        x = x + parameter
    return x


@feature("register_buffer", noting("one"), noting("two"))
def registers_a_buffer(thing: Any, x: torch.Tensor) -> Any:
    thing.register_buffer("buffer", x)
    return x + 1


@feature("__instancecheck__", lambda cls, thing: True, lambda cls, thing: False)
def is_asked_for_an_instance(thing: Any, x: torch.Tensor) -> Any:
    cls = thing if type(thing) is not type and isinstance(thing, type) else type(thing)
    return x + isinstance(3, cls), isinstance(thing, cls)


@feature("__subclasscheck__", lambda cls, other: True, lambda cls, other: False)
def is_asked_for_a_subclass(thing: Any, x: torch.Tensor) -> Any:
    cls = thing if type(thing) is not type and isinstance(thing, type) else type(thing)
    return x + issubclass(int, cls)


@feature(
    "__subclasshook__", classmethod(lambda cls, other: True), classmethod(lambda cls, other: False)
)
def is_asked_by_a_hook(thing: Any, x: torch.Tensor) -> Any:
    return x + isinstance(3, type(thing))
