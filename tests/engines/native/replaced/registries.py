"""Registries: of abstract classes, bases, operators, copies and trees."""

from __future__ import annotations

import abc
import collections
import copyreg
import gc
from collections.abc import Iterator
from typing import Any

import torch

from tests.engines.native.replaced.running import (
    case,
)


@case
def registration_with_an_abstract_class() -> Iterator[Any]:
    class Shape(abc.ABC):  # as programs have them
        pass

    class Square:
        pass

    square = Square()
    yield lambda x: (x + isinstance(square, Shape), issubclass(Square, Shape))
    Shape.register(Square)
    yield


@case
def registration_with_an_abstract_class_of_python() -> Iterator[Any]:
    class Square:
        pass

    square = Square()
    yield lambda x: (
        x + isinstance(square, collections.abc.Sequence),
        isinstance(square, collections.abc.Hashable),
    )
    collections.abc.Sequence.register(Square)
    yield


@case
def abstract_class_of_python_gets_its_method() -> Iterator[Any]:
    class Square:
        pass

    square = Square()
    kinds = (collections.abc.Sized, collections.abc.Iterable, collections.abc.Callable)
    yield lambda x: (x + 1, [isinstance(square, each) for each in kinds])
    Square.__len__ = lambda self: 1
    yield
    Square.__iter__ = lambda self: iter(())
    yield
    del Square.__len__
    yield
    Square.__call__ = lambda self: 1
    yield


@case
def base_classes_assigned() -> Iterator[Any]:
    class A:
        def method(self, x: Any) -> Any:
            return x + 1

    class B:
        def method(self, x: Any) -> Any:
            return x - 1

    class C(A):
        pass

    thing = C()
    yield lambda x: (thing.method(x), isinstance(thing, A), isinstance(thing, B), issubclass(C, B))
    C.__bases__ = (B,)
    yield
    C.__bases__ = (A, B)
    yield
    C.__bases__ = (A,)
    yield


@case
def class_of_an_object_assigned() -> Iterator[Any]:
    class A:
        def method(self, x: Any) -> Any:
            return x + 1

    class B(A):
        def method(self, x: Any) -> Any:
            return x - 1

    thing = A()
    yield lambda x: (thing.method(x), type(thing) is A, isinstance(thing, B))
    thing.__class__ = B
    yield
    thing.__class__ = A
    yield


@case
def operator_of_a_library() -> Iterator[Any]:
    library = torch.library.Library("stepper_replaced", "FRAGMENT")
    library.define("op(Tensor x) -> Tensor")
    try:
        library.impl("op", lambda x: x * 2, "CompositeExplicitAutograd")
        yield lambda x: torch.ops.stepper_replaced.op(x) + 1
        other = torch.library.Library("stepper_replaced", "IMPL")
        other.impl("op", lambda x: x * 3, "CPU")
        yield
        other._destroy()
        yield
    finally:
        library._destroy()
        del torch.ops.stepper_replaced


@case
def kernel_of_a_custom_operator() -> Iterator[Any]:
    @torch.library.custom_op("stepper_replaced_too::op", mutates_args=())
    def op(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    op.register_fake(lambda x: torch.empty_like(x))
    yield lambda x: op(x) + 1
    op.register_kernel("cpu")(lambda x: x * 3)
    yield


@case
def copy_registry() -> Iterator[Any]:
    import copy

    class Thing:
        pass

    thing = Thing()
    yield lambda x: (x + 1, copy.copy(thing))
    copyreg.pickle(Thing, lambda value: (int, (3,)))
    try:
        yield
    finally:
        del copyreg.dispatch_table[Thing]


@case
def tree_registry() -> Iterator[Any]:
    from torch.utils import _pytree

    class Pair:
        def __init__(self, *items: Any) -> None:
            self.items = items

    pair = Pair(1, 2)
    yield lambda x: (x + 1, _pytree.tree_leaves([pair, x])[1:])
    _pytree.register_pytree_node(Pair, lambda p: (list(p.items), None), lambda c, _: Pair(*c))
    yield


@case
def garbage_collector_settings() -> Iterator[Any]:
    yield lambda x: (x + 1, gc.isenabled(), gc.get_threshold())
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
