"""What an existing object of a dictionary's subclass holds, as `dict` itself reads it.

Each key that is asked for is guarded by itself, so that other entries may come and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepper.native.guards.class_dicts import has, lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import GetItemSource, Source
from stepper.native.variables.base import VariableTracker
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import key_of
from stepper.native.variables.exceptions import observed

if TYPE_CHECKING:
    from stepper.native.protocols import Translator
    from stepper.native.variables.base import Guards

METHODS = frozenset({"get", "__getitem__", "__contains__"})
"""Methods of `dict` that can be called on it."""


def is_read_like_dict(kind: type) -> bool:
    """Whether a class leaves reading to `dict`."""
    return all(
        lookup(kind, name) is dict.__dict__[name] for name in ("__getitem__", "__contains__")
    ) and not has(kind, "__missing__")


class DictContentsVariable(VariableTracker):
    """The dictionary in an object.

    value: the object, of a class that `is_read_like_dict`.
    """

    def __init__(self, value: dict[object, object], source: Source, guards: Guards) -> None:
        super().__init__(source=source, guards=guards)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        assert self.source is not None
        key = key_of(item)
        present = dict.__contains__(self.value, key)
        condition = f"({key!r} in {self.source.name()}) == {present}"
        tx.output.install_guard(self.source, GuardBuilder.EXPRESSION, name=condition)
        return present

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        assert self.source is not None
        if not self.contains(tx, key):
            raise observed(KeyError, key_of(key))
        found = dict.__getitem__(self.value, key_of(key))
        return tx.build(GetItemSource(self.source, key_of(key)), found).with_guards(
            self.guards | key.guards
        )

    def call_method(
        self,
        tx: Translator,
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
