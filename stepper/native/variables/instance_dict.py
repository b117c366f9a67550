"""`object.__dict__` of the program's objects: what is stored in the object, by its name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from stepper import _C
from stepper.native.guards.class_dicts import lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import GetItemSource, instance_dict_of
from stepper.native.variables import dicts
from stepper.native.variables.base import (
    DELETED,
    Arguments,
    Keywords,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.constant import ConstantVariable, is_constant
from stepper.native.variables.descriptors import is_data_descriptor, runs_program
from stepper.native.variables.exceptions import observed

if TYPE_CHECKING:
    from stepper.native.protocols import Translator
    from stepper.native.source import Recipe


def store_in_dict(owner: object, name: str, value: object) -> None:
    """Store in an object's dictionary; nothing is captured under it."""
    object.__getattribute__(owner, "__dict__")[name] = value


_C.set_skip(store_in_dict.__code__, "recursive")


class KeepsAttributes(Protocol):
    """What is asked of an object's tracker here."""

    value: Any
    is_new: bool

    @property
    def generic_setattr_method(self) -> Callable[..., object]: ...
    def in_own_dict(self, name: str) -> bool: ...
    def instance_dict(self) -> dict[str, object]: ...
    def is_given(self, name: str) -> bool: ...
    def generic_getattr(self, tx: Translator, name: str) -> VariableTracker: ...
    def store_own(self, tx: Translator, name: str, value: VariableTracker) -> None: ...
    def delete_own(self, tx: Translator, name: str) -> None: ...


@tracker_class
class InstanceDictVariable(HasBuiltinMethods, dicts.DictionaryVariable):
    """`object.__dict__`: a dictionary of what is stored in the object."""

    python_class = dict

    obj: VariableTracker
    """The object."""

    @property
    def keeper(self) -> KeepsAttributes:
        """The object, as one that attributes are stored in."""
        return cast("KeepsAttributes", self.obj)

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        name = item.as_python_constant()
        stored = tx.output.side_effects.load_attr(self.obj, name)
        if stored is not None and self.keeper.in_own_dict(name):
            return stored is not DELETED
        if self.keeper.is_new:
            return False
        present = name in self.keeper.instance_dict()
        source = self.obj.source
        if source is None:
            raise self.refuse("a membership test")
        found = name, present
        tx.output.install_guard(source, GuardBuilder.HASATTR, found, key=found)
        return present

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        if not self.contains(tx, key):
            raise observed(KeyError, key.as_python_constant())
        name = key.as_python_constant()
        if not self.keeper.is_given(name):
            return self.keeper.generic_getattr(tx, name).with_guards(self.guards)
        stored = tx.output.side_effects.load_attr(self.obj, name)
        if stored is None:
            assert self.obj.source is not None
            source = GetItemSource(instance_dict_of(self.obj.source), name)
            stored = tx.build(source, self.keeper.instance_dict()[name])
        return tx.realize(stored).with_guards(self.guards)

    def setitem(self, tx: Translator, key: VariableTracker, value: VariableTracker) -> None:
        name = key.as_python_constant()
        plain = self.keeper.generic_setattr_method is object.__setattr__
        of_class = lookup(type(self.keeper.value), name) if type(name) is str else None
        kept_in_c = is_data_descriptor(of_class) and not runs_program(of_class)
        if type(name) is not str or kept_in_c or not plain:
            raise self.refuse("assignment to an item")
        self.keeper.store_own(tx, name, value)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        options = self.propagate(self, args)
        match name, args:
            case "get", [key] | [key, _] if not kwargs:
                if self.contains(tx, key):
                    return self.getitem(tx, key)
                return args[1] if len(args) == 2 else ConstantVariable(None, **options)
            case "keys" | "values" | "items", [] if not kwargs:
                return dicts.DictViewVariable(self, name, **options)
            case "__delitem__", [key] if self.contains(tx, key):
                self.keeper.delete_own(tx, key.as_python_constant())
                return ConstantVariable(None)
            case "copy", [] if not kwargs:
                known = self.known(tx)
                return dicts.ConstDictVariable.new(known.items, known.guards)
            case "update", _ if len(args) < 2:
                for other in args:
                    for entry, value in dicts.pairs_of(tx, other).items():
                        self.setitem(tx, ConstantVariable(entry), value)
                for name, value in kwargs.items():
                    self.setitem(tx, ConstantVariable(name), value)
                return ConstantVariable(None)
        raise self.refuse_method(name)

    def known(self, tx: Translator) -> dicts.ConstDictVariable:
        obj, keeper, items = self.obj, self.keeper, dict[object, VariableTracker]()
        if not keeper.is_new:
            fields = keeper.instance_dict()
            if obj.source is None or not all(map(is_constant, fields)):
                raise self.refuse("all that is in it, the contents")
            source = instance_dict_of(obj.source)
            tx.output.chosen(tx.output.install_guard(source, GuardBuilder.DICT_KEYS, fields))
            for name, value in fields.items():
                items[name] = tx.lazy(GetItemSource(source, name), value)
        for name, value in tx.output.side_effects.stored(obj).items():
            if value is DELETED:
                items.pop(name)
            elif keeper.in_own_dict(name):
                items[name] = value
        layout = sys.intern("\0".join(map(str, items)))  # the same as long as the keys are
        return dicts.ConstDictVariable(items, layout, **self.propagate(self))

    def mapping_items(self, tx: Translator) -> dict[object, VariableTracker]:
        return self.known(tx).items

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return self.known(tx).unpack(tx)

    def length(self, tx: Translator) -> VariableTracker:
        """`len(object.__dict__)`."""
        known = self.known(tx)
        return ConstantVariable(len(known.items), guards=known.guards)

    def truth(self, tx: Translator) -> bool:
        return bool(self.known(tx).items)

    def recipe(self) -> Recipe:
        return getattr, self.obj, "__dict__"
