"""Large dictionaries of objects, and the environment, in which code looks things up.

A table of what each class is to be treated as has a hundred entries, and a call asks for three of
them. So only what was asked for is guarded: that a key is there, or is not, and what it leads to.
Whatever needs all of it, as to go through it or to change it, is refused.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.scope import is_immortal
from stepper.native.source import ConstantSource, KeyedSource
from stepper.native.variables.base import (
    Arguments,
    Keywords,
    TrackedKey,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.constant import ConstantVariable, is_constant
from stepper.native.variables.dicts import key_of
from stepper.native.variables.exceptions import observed

if TYPE_CHECKING:
    from stepper.native.protocols import Translator


@tracker_class
class RegistryVariable(HasBuiltinMethods):
    """See the module's essay."""

    value: Mapping[object, object]
    """The dictionary, whose keys are constants, or equal to themselves only; or `os.environ`."""

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        if self.value is os.environ and item.python_type() is not str:
            raise self.refuse("a variable")
        return is_in(tx, self, self.value, item)

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        if not self.contains(tx, key):
            raise observed(KeyError, key)
        found = tx.build(_source_in(tx, self, key), self.value[_bare(key_of(tx, key))])
        return found.with_guards(self.guards | key.guards)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        if name != "get" or len(args) not in (1, 2) or kwargs:
            raise self.refuse_method(name)
        if self.contains(tx, args[0]):
            return self.getitem(tx, args[0])
        return args[1] if len(args) == 2 else ConstantVariable(None)


def is_in(
    tx: Translator, holder: VariableTracker, value: Collection[object], item: VariableTracker
) -> bool:
    """Whether something is in a dictionary or set that existed, which is guarded."""
    key = key_of(tx, item, value)
    if isinstance(key, TrackedKey) and key.hashed is None:
        if item.source is None:
            return False
        present = any(_is_of(tx, each, item) for each in value)
    else:
        present = _bare(key) in value
    source = _source_in(tx, holder, item)
    condition = f"({source.key.name()} in {source.base.name()}) == {present}"
    tx.output.chosen(tx.output.install_guard(source, GuardBuilder.EXPRESSION, name=condition))
    return present


def _source_in(tx: Translator, holder: VariableTracker, key: VariableTracker) -> KeyedSource:
    assert holder.source is not None
    if key.source is not None:
        return KeyedSource(holder.source, key.source)
    value = _bare(key_of(tx, key))
    if not is_constant(value) and not is_immortal(value):
        raise key.refuse("use as a key")
    return KeyedSource(holder.source, ConstantSource(value))


def _bare(key: object) -> object:
    return key.equals if isinstance(key, TrackedKey) else key


def _is_of(tx: Translator, value: object, item: VariableTracker) -> bool:
    """Whether a value is the object that a tracker stands for."""
    known = tx.output.variables.get(id(value))
    return known is not None and known[0] is value and known[1].identity is item.identity
