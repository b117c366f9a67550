"""Objects of the program's classes that the frame makes.

Making one runs `__new__`, which is `object`'s, and `__init__`, which is interpreted. What is stored
in the object is a pending change like any other; where the object is needed, transformed code makes
an empty one and puts into it what it has then. A class with a metaclass, or with a `__new__` or a
`__del__`, could do more than that, and is refused; the metaclass of abstract classes does not.
"""

from __future__ import annotations

import abc
import collections
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import torch

from stepper.native.guards.class_dicts import class_dict, has, lookup
from stepper.native.source import Source
from stepper.native.variables import containers
from stepper.native.variables.base import AttributeMutationNew, VariableTracker
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.exceptions import BEGINNINGS, PLAIN, ExceptionVariable
from stepper.native.variables.lists import TupleVariable
from stepper.native.variables.user_defined import (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
)

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.variables.base import TrackerOptions


class NewObjectVariable(UserDefinedObjectVariable):
    """An object that the frame made.

    value: an empty instance of its class, which stands for it while tracing.
    cls: its class.
    held: what it holds, if it is a container by inheritance.
    """

    is_new = True

    def __init__(
        self,
        value: object,
        cls: UserDefinedClassVariable,
        held: VariableTracker | None = None,
        **options: Unpack[TrackerOptions],
    ) -> None:
        super().__init__(value, **options)
        self.cls = cls
        self.held = held

    def contents(self, tx: Translator) -> VariableTracker:
        assert self.held is not None
        return tx.output.side_effects.latest(self.held).with_guards(self.guards)

    def class_source(self) -> Source:
        if self.cls.source is None:
            raise self.refuse("the class")
        return self.cls.source

    def var_delattr(self, tx: Translator, name: str) -> None:
        plain = lookup(type(self.value), "__delattr__") is object.__delattr__
        if not plain or tx.output.side_effects.load_attr(self, name) is None:
            raise self.refuse(f"deletion of attribute {name}")
        tx.output.side_effects.delete_attr(self, name)

    def parts(self) -> Sequence[VariableTracker]:
        return [self.cls] if self.held is None else [self.cls, self.held]

    def begin(self, codegen: Codegen) -> None:
        """Push the object, empty."""
        base = containers.container_of(type(self.value)) or object
        codegen.load_callable(base.__new__)
        codegen(self.cls)
        if isinstance(self.held, TupleVariable):
            self.held.reconstruct(codegen)
        codegen.call(1 + isinstance(self.held, TupleVariable))

    def fill(self, codegen: Codegen, variable: str) -> None:
        """Store what the object has, which is in the variable."""
        stored = codegen.tx.output.side_effects.stored(self)
        if self.held is not None:
            base = containers.container_of(type(self.value))
            assert base is not None
            held = codegen.tx.output.side_effects.latest(self.held)
            most = stored.pop("maxlen", None) if base is collections.deque else None
            containers.write_contents(codegen, held, base, variable, most)
        for name, value in stored.items():
            codegen.load_callable(object.__setattr__)
            codegen.emit("LOAD_FAST", variable)
            codegen.load_const(name)
            codegen(value)
            codegen.call(3)
            codegen.pop_top()


def make_new(
    tx: Translator,
    cls: UserDefinedClassVariable,
    args: list[VariableTracker],
    kwargs: dict[str, VariableTracker],
) -> VariableTracker:
    """`cls(*args, **kwargs)`."""
    kind = cls.value
    begin = lookup(kind, "__init__")
    if issubclass(kind, BaseException):
        return _make_exception(tx, cls, args, kwargs)
    plain = type(kind) is type or (type(kind) is abc.ABCMeta and not kind.__abstractmethods__)
    plain = plain and not issubclass(kind, torch.Tensor)
    plain = plain and lookup(type(kind), "__call__") is type.__dict__["__call__"]
    base = containers.container_of(kind)
    maker = object if base is None else dict if issubclass(base, dict) else base
    made_by_object = lookup(kind, "__new__") is maker.__dict__["__new__"]
    if not plain or not made_by_object or cls.source is None or has(kind, "__del__"):
        raise cls.refuse("an instance")
    by_object = begin is object.__init__ and (base is tuple or not (args or kwargs))
    inherited = base is not None and containers.inherits(kind, "__init__")
    if not by_object and not inherited and type(begin) is not types.FunctionType:
        raise cls.refuse("an instance")
    if base is tuple and (len(args) > 1 or kwargs):
        raise cls.refuse("an instance")
    options = VariableTracker.propagate(cls)
    held = None if base is None else containers.new_contents(tx, base, args)
    try:
        make: Any = maker.__new__
        empty = make(kind)
    except TypeError:  # a class in C, which may not be made like that
        raise cls.refuse("an instance") from None
    made = NewObjectVariable(empty, cls, held, mutation_type=AttributeMutationNew(), **options)
    if inherited:
        containers.call_inherited(tx, made, "__init__", args, kwargs)
    elif not by_object:
        _call_init(tx, made, args, kwargs)
    return made


def _call_init(
    tx: Translator,
    made: NewObjectVariable | ExceptionVariable,
    args: list[VariableTracker],
    kwargs: dict[str, VariableTracker],
) -> None:
    method = made.attribute_of_class(tx, "__init__")
    result = method.call_function(tx, args, kwargs)
    if not isinstance(result, ConstantVariable) or result.value is not None:
        raise made.cls.refuse("an instance whose __init__ returns something, making")


def _make_exception(
    tx: Translator,
    cls: UserDefinedClassVariable,
    args: list[VariableTracker],
    kwargs: dict[str, VariableTracker],
) -> VariableTracker:
    kind = cls.value
    makes, begin = lookup(kind, "__new__"), lookup(kind, "__init__")
    if makes not in [class_dict(each).get("__new__") for each in PLAIN]:
        raise cls.refuse("an instance")
    if has(kind, "__del__"):
        raise cls.refuse("an instance")
    made = ExceptionVariable(cls, args, **VariableTracker.propagate(cls, args))
    if begin in BEGINNINGS and not kwargs:
        return made
    has_own = type(begin) is types.FunctionType and type(kind) is type
    if not has_own:
        raise cls.refuse("an instance")
    _call_init(tx, made, args, kwargs)
    return made
