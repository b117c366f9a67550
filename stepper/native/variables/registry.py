"""Large dictionaries of objects, and sets, in which code looks things up.

A table of what each class is to be treated as has a hundred entries, and a call asks for three of
them. So only what was asked for is guarded: that a key is there, or is not, and what it leads to.
Whatever needs all of it, as to go through it or to change it, is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.scope import is_immortal
from stepper.native.source import ConstantSource, KeyedSource
from stepper.native.variables.base import Arguments, Keywords, tracker_class
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.constant import ConstantVariable, is_constant
from stepper.native.variables.dicts import key_of
from stepper.native.variables.exceptions import observed

if TYPE_CHECKING:
    from stepper.native.protocols import Translator
    from stepper.native.variables.base import VariableTracker


@tracker_class
class RegistryVariable(HasBuiltinMethods):
    """See the module's essay."""

    value: Collection[object]
    """The dictionary or set; its keys are constants, or equal to themselves only."""

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        present = key_of(tx, item) in self.value
        source = self._source_of(tx, item)
        condition = f"({source.key.name()} in {source.base.name()}) == {present}"
        tx.output.chosen(tx.output.install_guard(source, GuardBuilder.EXPRESSION, name=condition))
        return present

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        assert isinstance(self.value, dict)
        if not self.contains(tx, key):
            raise observed(KeyError, key_of(tx, key))
        found = tx.build(self._source_of(tx, key), self.value[key_of(tx, key)])
        return found.with_guards(self.guards | key.guards)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        if name != "get" or not isinstance(self.value, dict) or len(args) not in (1, 2) or kwargs:
            raise self.refuse(f"method {name}")
        if self.contains(tx, args[0]):
            return self.getitem(tx, args[0])
        return args[1] if len(args) == 2 else ConstantVariable(None)

    def _source_of(self, tx: Translator, key: VariableTracker) -> KeyedSource:
        assert self.source is not None
        if key.source is not None:
            return KeyedSource(self.source, key.source)
        value = key_of(tx, key)
        if not is_constant(value) and not is_immortal(value):
            raise key.refuse("use as a key")
        return KeyedSource(self.source, ConstantSource(value))
