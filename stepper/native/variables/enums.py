"""Members of enumerations: each is known by its identity, and equal to itself only. And what is a
number or text, and of another class."""

from __future__ import annotations

import enum
import types
from typing import TYPE_CHECKING

from stepper.native.guards.class_dicts import find, has_dict, lookup
from stepper.native.guards.guard_builder import bare_value
from stepper.native.library import is_library
from stepper.native.source import GetItemSource, instance_dict_of
from stepper.native.variables.base import (
    Arguments,
    TrackedKey,
    VariableTracker,
)
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.folding import fold
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.support.words import one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Translator


def is_plain_member(value: object) -> bool:
    """Whether a value is a member of an enumeration that is no number or text, too."""
    kind = type(value)
    return (
        issubclass(type(value), enum.Enum)
        and lookup(kind, "__eq__") is object.__dict__["__eq__"]
        and not issubclass(type(value), int | float | str | bytes)
    )


_NUMBERS = (int, float, str)
_SHOWN = ("__str__", "__repr__", "__format__")
_COMPARED = frozenset(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "hash"))
_OF_ALL = frozenset(vars(enum.Enum)) | frozenset(vars(object))
_OF_INT = frozenset(vars(int)) - _OF_ALL | _COMPARED


def is_number_member(value: object) -> bool:
    """Whether a value is a number or text by inheritance, maybe a member of an enumeration, and
    nothing that its class has makes it behave like another one."""
    kind = type(value)
    base = next((each for each in _NUMBERS if issubclass(kind, each)), None)
    if base is None or issubclass(kind, enum.Flag):
        return False
    shown = [lookup(kind, name) for name in _SHOWN]
    own = [each for each in shown if type(each) is types.FunctionType]
    if not all(is_library(each.__code__.co_filename) for each in own):
        return False
    names = vars(base).keys() - _OF_ALL | _COMPARED
    return all(lookup(kind, name) is lookup(base, name) for name in names)


def is_number_flag(value: object) -> bool:
    """Whether a value is a combination of flags that is compared as the number that it is, too."""
    return issubclass(type(value), enum.IntFlag) and _is_of_int(type(value), "__eq__")


def _is_of_int(kind: type, name: str) -> bool:
    """Whether a class leaves a special method to `int`."""
    return issubclass(kind, int) and name in _OF_INT and lookup(kind, name) is vars(int)[name]


class EnumVariable(UserDefinedObjectVariable):
    """A member."""

    def describe(self) -> str:
        fields = self.instance_dict() if has_dict(type(self.value)) else {}
        name = fields.get("_name_")  # it gets it while its class is made
        return super().describe() if name is None else f"{type(self.value).__name__}.{name}"

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name == "_inverted_" and issubclass(type(self.value), enum.Flag):
            enum.Flag.__invert__(self.value)  # Python keeps it there
        if name not in ("name", "value") or not issubclass(type(self.value), enum.Enum):
            return super().var_getattr(tx, name)
        own = f"_{name}_"
        described = lookup(type(self.value), name) is enum.Enum.__dict__[name]
        if not described or self.source is None:
            raise self.refuse(f"attribute {name}")
        fields = self.instance_dict()
        source = GetItemSource(instance_dict_of(self.source), own)
        return tx.build(source, fields[own]).with_guards(self.guards)

    def as_key(self, tx: Translator) -> TrackedKey:
        kind, effects = type(self.value), tx.output.side_effects
        if self.source is None or lookup(kind, "__eq__") is not object.__dict__["__eq__"]:
            return super().as_key(tx)
        if lookup(kind, "__hash__") is not enum.Enum.__hash__:
            changes = effects.changes
            tx.output.chosen_by(self.special(tx, "__hash__", []))
            if effects.changes != changes:
                raise self.refuse("asking for the hash")
        return TrackedKey.guarded(self, self.value)

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        raise self.refuse(f"assignment to attribute {name}")

    def has_special(self, name: str) -> bool:
        return super().has_special(name) or _is_of_int(type(self.value), name)

    def special(self, tx: Translator, name: str, args: Arguments) -> VariableTracker:
        if not _is_of_int(type(self.value), name):
            return super().special(tx, name, args)
        if any(not issubclass(each.python_type(), int) for each in args):
            return ConstantVariable(NotImplemented)
        given = [each.bare() if isinstance(each, EnumVariable) else each for each in args]
        return fold(vars(int)[name], [self.bare(), *given], {})

    def bare(self) -> VariableTracker:
        """The number or text that it is, too, alone."""
        if not isinstance(self.value, _NUMBERS):
            raise self.refuse("the number")
        return ConstantVariable(bare_value(self.value), guards=self.guards)


class NumberMemberVariable(EnumVariable):
    """What is a number or text, too: what operators do with it is what they do with that."""

    def is_python_constant(self) -> bool:
        return True

    def as_python_constant(self) -> object:
        return self.value

    def attribute_of_class(self, tx: Translator, name: str, start: int = 0) -> VariableTracker:
        if self._is_left(name, start):
            return self.bare().var_getattr(tx, name)
        return super().attribute_of_class(tx, name, start)

    def data_descriptor(self, tx: Translator, name: str, descriptor: object) -> VariableTracker:
        if self._is_left(name):
            return self.bare().var_getattr(tx, name)
        return super().data_descriptor(tx, name, descriptor)

    def special(self, tx: Translator, name: str, args: Arguments) -> VariableTracker:
        if isinstance(self.value, str) and self._is_left(name):
            return self.bare().var_getattr(tx, name).call_function(tx, args, {})
        return super().special(tx, name, args)

    def _is_left(self, name: str, start: int = 0) -> bool:
        """Whether its class leaves an attribute to what the number or text is."""
        owner, found = find(type(self.value), name, start)
        return one_of(owner, _NUMBERS) and type(found) is not staticmethod

    def as_proxy(self) -> object:
        return bare_value(self.value)

    def as_key(self, tx: Translator) -> TrackedKey:
        if self.source is None:
            return super().as_key(tx)
        return TrackedKey.guarded(self, self.value)

    def truth(self, tx: Translator) -> bool:
        return bool(self.value)
