"""Outputs of models of `transformers`: ordered dictionaries that are data classes, too.

As in Dynamo's documents, such an object is known as what its class makes of the fields:
interpreting the generated `__init__`, which goes through three methods for each field, would say
the same, later. It is made, where it is needed, by calling its class with the fields. Only classes
that add nothing to `ModelOutput` but fields are known in this way.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import has, lookup, note_all
from stepper.native.source import AttrSource
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationNew,
    Keywords,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin_methods import bound_method
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable, key_of
from stepper.native.variables.exceptions import make_instance
from stepper.native.variables.lists import TupleVariable
from stepper.native.variables.tensor import TensorVariable
from stepper.native.variables.user_defined import UserDefinedClassVariable, gets_by_python

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator

_GENERATED = frozenset(
    {
        "__module__", "__doc__", "__annotations__", "__dataclass_fields__", "__dataclass_params__",
        "__init__", "__repr__", "__eq__", "__match_args__", "__hash__", "__replace__", "__dict__",
        "__weakref__", "__static_attributes__", "__firstlineno__", "__parameters__",
    }
)  # fmt: skip
"""What a data class has beside its fields."""


def is_model_output(kind: type) -> bool:
    """Whether the class adds nothing but fields, each None by default, to `ModelOutput`."""
    base = getattr(sys.modules.get("transformers.utils.generic"), "ModelOutput", None)
    if not isinstance(base, type) or kind is base or base not in kind.__mro__:
        return False
    fields = kind.__dict__.get("__dataclass_fields__")
    if type(fields) is not dict or "__init__" not in kind.__dict__:
        return False
    note_all(kind, "__getattr__", "__bool__")
    own = kind.__mro__[: kind.__mro__.index(base)]
    return all(each.init and not each.kw_only for each in fields.values()) and all(
        name in _GENERATED or (name in fields and (value is None or is_slot(value)))
        for cls in own
        for name, value in cls.__dict__.items()
    )


def is_slot(value: object) -> bool:
    """Whether a class attribute is no value."""
    return type(value) is types.MemberDescriptorType


class DataClassClassVariable(UserDefinedClassVariable):
    """A class of such outputs."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        names = list(self.value.__dataclass_fields__)
        if self.source is None or len(args) > len(names) or {*kwargs} - {*names[len(args) :]}:
            raise self.refuse("a call with these arguments")
        for name in ("__init__", "__post_init__"):
            tx.build(AttrSource(self.source, name), getattr(self.value, name))
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        for name in names:
            default = self.value.__dataclass_fields__[name].default
            if name not in given and default is not None:
                raise unimplemented(f"TypeError: {self.describe()} without its field {name}")
        fields = {
            name: tx.realize(given[name]) if name in given else ConstantVariable(None)
            for name in names
        }
        first, *others = fields.values()
        if not isinstance(first, TensorVariable) and all(map(is_none, others)):
            raise self.refuse("a call with one field, which is no tensor,")
        options = self.propagate(self, list(fields.values()))
        return DataClassVariable(self, fields, mutation_type=AttributeMutationNew(), **options)


@tracker_class
class DataClassVariable(VariableTracker):
    """An output that the frame made."""

    cls: DataClassClassVariable
    """The class of the object."""
    fields: dict[str, VariableTracker]
    """The value of each field; those that are not None are its items."""

    def python_type(self) -> type:
        kind: type = self.cls.value
        return kind

    def _items(self, tx: Translator) -> dict[object, VariableTracker]:
        return {
            name: tx.realize(value) for name, value in self.fields.items() if not is_none(value)
        }

    def truth(self, tx: Translator) -> bool:
        return bool(self._items(tx))

    def length(self, tx: Translator) -> VariableTracker:
        """`len(output)`."""
        return ConstantVariable(len(self._items(tx)), guards=self.guards)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return [ConstantVariable(name, guards=self.guards) for name in self._items(tx)]

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        return key_of(item) in self._items(tx)

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has a field, or its class an attribute, of this name."""
        if name in self.fields:
            return True
        found = lookup(self.cls.value, name)
        if type(found) is property or gets_by_python(found):
            raise self.refuse("hasattr")  # it is computed, and may find that there is none
        return has(self.cls.value, name)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name in self.fields:
            return tx.realize(self.fields[name]).with_guards(self.guards)
        return bound_method(tx, self, name)

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        items = self._items(tx)
        if key.python_type() is str:
            return ConstDictVariable(items, guards=self.guards).getitem(tx, key)
        return TupleVariable(list(items.values()), guards=self.guards).getitem(tx, key)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        items = self._items(tx)
        if name == "to_tuple" and not args and not kwargs:
            return TupleVariable(list(items.values()), guards=self.guards)
        if name in ("keys", "values", "items", "get"):
            contents = ConstDictVariable(items, guards=self.guards)
            found = contents.call_method(tx, name, args, kwargs)
            return found if name == "get" else TupleVariable(found.unpack(tx), guards=self.guards)
        raise self.refuse(f"method {name}")

    def parts(self) -> Sequence[VariableTracker]:
        return [self.cls, *self.fields.values()]

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.load_callable(make_instance)
        codegen(self.cls)
        codegen.foreach(self.fields.values())
        codegen.call(1 + len(self.fields))


def is_none(value: VariableTracker) -> bool:
    """Whether the value is None."""
    return isinstance(value, ConstantVariable) and value.value is None
