"""Views of mappings that cannot be written to, as `inspect.Signature.parameters` is one."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from stepper.native.variables.base import Arguments, Keywords, VariableTracker, tracker_class
from stepper.native.variables.builtin import BuiltinVariable, handles
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.dicts import DictionaryVariable, pairs_of
from stepper.native.variables.iter import iterate
from stepper.native.variables.user_defined import UserDefinedObjectVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Translator
    from stepper.native.source import Recipe


@handles(types.MappingProxyType)
def _proxy(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    (base,) = args
    known = isinstance(base, DictionaryVariable | UserDefinedObjectVariable)
    return MappingProxyVariable(base, guards=base.guards) if known else None


@tracker_class
class MappingProxyVariable(HasBuiltinMethods):
    """A view: whatever is asked of it, the mapping is asked."""

    python_class = types.MappingProxyType

    base: VariableTracker
    """The mapping."""

    def _newest(self, tx: Translator) -> VariableTracker:
        return tx.output.side_effects.latest(self.base)

    def truth(self, tx: Translator) -> bool:
        return self._newest(tx).truth(tx)

    def length(self, tx: Translator) -> VariableTracker:
        """`len(view)`."""
        return BuiltinVariable(len).call_function(tx, [self._newest(tx)], {})

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        return self._newest(tx).getitem(tx, key)

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        return self._newest(tx).contains(tx, item)

    def lazy_iterator(self, tx: Translator) -> VariableTracker:
        return iterate(tx, self._newest(tx))

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return self._newest(tx).unpack(tx)

    def mapping_items(self, tx: Translator) -> dict[object, VariableTracker]:
        return pairs_of(tx, self._newest(tx))

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        if name not in ("get", "keys", "values", "items", "copy") or kwargs:
            raise self.refuse_method(name)
        return self._newest(tx).call_method(tx, name, args, kwargs)

    def recipe(self) -> Recipe:
        return types.MappingProxyType, self.base
