"""Members of enumerations: each is known by its identity, and equal to itself only."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from stepper.native.guards.class_dicts import lookup
from stepper.native.source import InstanceAttrSource
from stepper.native.variables.base import VariableTracker
from stepper.native.variables.user_defined import UserDefinedObjectVariable

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


class EnumVariable(UserDefinedObjectVariable):
    """A member."""

    def describe(self) -> str:
        name = self.instance_dict().get("_name_")  # it gets it while its class is made
        return super().describe() if name is None else f"{type(self.value).__name__}.{name}"

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name not in ("name", "value"):
            return super().var_getattr(tx, name)
        own = f"_{name}_"
        described = lookup(type(self.value), name) is enum.Enum.__dict__[name]
        if not described or self.source is None:
            raise self.refuse(f"attribute {name}")
        fields = self.instance_dict()
        return tx.build(InstanceAttrSource(self.source, own), fields[own]).with_guards(self.guards)

    def as_key(self) -> object:
        plain = lookup(type(self.value), "__hash__") is enum.Enum.__hash__
        return self.value if plain and self.source is not None else super().as_key()

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        raise self.refuse(f"assignment to attribute {name}")
