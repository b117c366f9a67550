"""Named tuples: tuples whose items have names."""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeGuard, Unpack

from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import MISSING, class_dict, lookup, note_all
from stepper.native.source import AttrSource, ConstantSource, MadeSource, Source, type_of
from stepper.native.variables.base import Arguments, Guards, Keywords, VariableTracker
from stepper.native.variables.descriptors import TUPLE_GETTER
from stepper.native.variables.exceptions import make_instance
from stepper.native.variables.functions import UserFunctionVariable
from stepper.native.variables.lists import ListVariable, TupleVariable
from stepper.native.variables.user_defined import UserDefinedClassVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.variables.base import TrackerOptions

_SPECIAL = ("__getattribute__", "__getattr__", "__bool__", "__class__")
"""What a class may have besides, and then is no plain one."""
_OF_TUPLES = frozenset(tuple.__dict__) - {"__new__", "__getnewargs__", "__doc__", "__repr__"}


def is_named_tuple(kind: type) -> bool:
    """Whether a class is a named tuple that does nothing in another way than a tuple."""
    if type(kind) is not type or kind.__bases__ != (tuple,):
        return False
    own = class_dict(kind)
    note_all(kind, *_SPECIAL)
    return (
        type(own.get("_fields")) is tuple
        and _OF_TUPLES.isdisjoint(own)
        and all(type(own.get(name)) is TUPLE_GETTER for name in own["_fields"])
        and not any(name in own for name in _SPECIAL)
    )


class NamedTupleVariable(TupleVariable):
    """A named tuple.

    tuple_cls: its class.
    cls: the tracker of the class, None: it was there before.
    """

    def __init__(
        self,
        items: Sequence[VariableTracker],
        tuple_cls: Any,
        cls: VariableTracker | None = None,
        **options: Unpack[TrackerOptions],
    ) -> None:
        super().__init__(items, **options)
        self.tuple_cls = tuple_cls
        self.cls = cls

    @classmethod
    def given(cls, items: Sequence[VariableTracker], kind: type, guards: Guards) -> Self:
        """What an operator has given, whose class that is."""
        of = NamedTupleClassVariable(kind, source=ConstantSource(kind))
        return cls(items, kind, of, guards=guards)

    def python_type(self) -> type:
        kind: type = self.tuple_cls
        return kind

    def is_python_constant(self) -> bool:
        return False

    def as_python_constant(self) -> object:
        raise self.refuse("the value")

    def make(self, items: Sequence[VariableTracker], guards: Guards) -> VariableTracker:
        return TupleVariable(items, guards=guards)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name in self.tuple_cls._fields:
            position = self.tuple_cls._fields.index(name)
            return tx.realize(self.items[position]).with_guards(self.guards)
        if name in ("index", "count", "__class__"):
            return super().var_getattr(tx, name)
        found, of = lookup(self.tuple_cls, name), self._class_source()
        if of is None or found is MISSING:
            raise self.refuse(f"attribute {name}")
        source = AttrSource(of, name)
        if type(found) is property and type(found.fget) is types.FunctionType:
            getter = tx.build(AttrSource(source, "fget"), found.fget)
            return getter.call_function(tx, [self], {})
        if type(found) is types.FunctionType:
            method = tx.build(source, found)
            return (method.bound_to(self) or method).with_guards(self.guards)
        cls = tx.class_variable(self)
        assert isinstance(cls, UserDefinedClassVariable)
        return cls.attribute(tx, source, found).with_guards(self.guards)

    def as_tuple(self, tx: Translator) -> VariableTracker:
        """A tuple with its items, to be read."""
        items = [tx.realize(each).looked_into(tx) for each in self.items]
        return TupleVariable(items, **self.propagate(self, items))

    def shown(self, tx: Translator) -> VariableTracker | None:
        """`repr`; None: something else than a text."""
        said = self.var_getattr(tx, "__repr__").call_function(tx, [], {})
        return said if said.python_type() is str else None

    def _class_source(self) -> Source | None:
        if self.cls is not None:
            return self.cls.source
        return None if self.source is None else type_of(self.source)

    def parts(self) -> Sequence[VariableTracker]:
        return self.items if self.cls is None else [self.cls, *self.items]

    def reconstruct(self, codegen: Codegen) -> None:
        if self.cls is None:
            raise self.refuse("reconstruction")
        codegen.make(make_instance, self.cls, *self.items)


class NamedTupleMakerVariable(UserFunctionVariable):
    """`collections.namedtuple`, which makes its class of text."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        make: Callable[..., type] = collections.namedtuple
        named: dict[str, object] = {"module": tx.f_globals.get("__name__")}
        named.update((name, _plain(tx, value)) for name, value in kwargs.items())
        try:
            made = make(*[_plain(tx, each) for each in args], **named)
        except (TypeError, ValueError) as error:
            raise unimplemented(f"{type(error).__name__}: {error}") from None
        options = self.propagate(self, args, list(kwargs.values()))
        source = MadeSource(made, tx.root.current_instruction.index)
        return tx.build(source, made).with_guards(options["guards"])


def _plain(tx: Translator, value: VariableTracker) -> object:
    """A constant, or a list of such."""
    if isinstance(value, ListVariable):
        return [tx.realize(each).as_python_constant() for each in value.items]
    return value.as_python_constant()


class NamedTupleClassVariable(UserDefinedClassVariable):
    """A class of named tuples."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        names = self.value._fields
        new = lookup(self.value, "__new__")
        if self.source is None or not _is_generated(new, names):
            raise self.refuse("a call")
        function = tx.build(AttrSource(self.source, "__new__"), new.__func__)
        assert isinstance(function, UserFunctionVariable)
        bound = function.bind(tx, [self, *args], kwargs)
        items = [tx.realize(bound[name]) for name in names]
        return NamedTupleVariable(items, self.value, self, **self.propagate(self, items))

    def holding(self, tx: Translator, given: VariableTracker) -> VariableTracker | None:
        """`tuple.__new__` of it; None: of so many items there is none."""
        items = given.unpack(tx)
        if self.source is None or len(items) != len(self.value._fields):
            return None
        return NamedTupleVariable(items, self.value, self, **self.propagate(self, given, items))


def _is_generated(new: Any, fields: tuple[str, ...]) -> TypeGuard[staticmethod[..., Any]]:
    """Whether a class's `__new__` is what `collections.namedtuple` makes for these fields."""
    if type(new) is not staticmethod or type(new.__func__) is not types.FunctionType:
        return False
    code, example = new.__func__.__code__, _example_of(len(fields))
    return (
        code.co_varnames[1:] == fields
        and code.co_code == example.co_code
        and code.co_names == example.co_names
        and new.__func__.__globals__.get("_tuple_new") == tuple.__new__
    )


@functools.cache
def _example_of(count: int) -> types.CodeType:
    make: Any = collections.namedtuple
    code: types.CodeType = make("Example", [f"f{index}" for index in range(count)]).__new__.__code__
    return code
