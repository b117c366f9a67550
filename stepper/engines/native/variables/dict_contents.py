"""What an existing object of a dictionary's subclass holds, as `dict` itself reads it.

Each key that is asked for is guarded by itself, so that other entries may come and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepper.engines.native.class_dicts import lookup
from stepper.engines.native.guard_builder import GuardBuilder
from stepper.engines.native.source import GetItemSource, Source
from stepper.engines.native.variables.base import VariableTracker
from stepper.engines.native.variables.constant import ConstantVariable
from stepper.engines.native.variables.dicts import key_of
from stepper.engines.native.variables.exceptions import observed

if TYPE_CHECKING:
    from stepper.engines.native.symbolic_convert import InstructionTranslatorBase

METHODS = frozenset({"get", "__getitem__", "__contains__"})
"""Methods of `dict` that can be called on it."""


def is_read_like_dict(kind: type) -> bool:
    """Whether a class leaves reading to `dict`."""
    return all(
        lookup(kind.__mro__, name) is dict.__dict__[name]
        for name in ("__getitem__", "__contains__")
    ) and not hasattr(kind, "__missing__")


class DictContentsVariable(VariableTracker):
    """The dictionary in an object.

    value: the object, of a class that `is_read_like_dict`.
    """

    def __init__(self, value: dict[Any, Any], source: Source, **options: Any) -> None:
        super().__init__(source=source, **options)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def contains(self, tx: InstructionTranslatorBase, item: VariableTracker) -> bool:
        assert self.source is not None
        key = key_of(item)
        present = dict.__contains__(self.value, key)
        condition = f"({key!r} in {self.source.name()}) == {present}"
        tx.output.install_guard(self.source, GuardBuilder.EXPRESSION, name=condition)
        return present

    def getitem(self, tx: InstructionTranslatorBase, key: VariableTracker) -> VariableTracker:
        assert self.source is not None
        if not self.contains(tx, key):
            raise observed(KeyError, key_of(key))
        found = dict.__getitem__(self.value, key_of(key))
        return tx.build(GetItemSource(self.source, key_of(key)), found).with_guards(
            self.guards | key.guards
        )

    def call_method(
        self,
        tx: InstructionTranslatorBase,
        name: str,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        if kwargs or not args:
            raise self.refuse(f"method {name}")
        present = self.contains(tx, args[0])
        match name, args[1:]:
            case "get", [] | [_] if not present:
                return args[1] if len(args) == 2 else ConstantVariable(None, guards=self.guards)
            case "get", [] | [_]:
                return self.getitem(tx, args[0])
            case "__getitem__", []:
                return self.getitem(tx, args[0])
            case "__contains__", []:
                return ConstantVariable(present, guards=self.guards | args[0].guards)
        raise self.refuse(f"method {name}")
