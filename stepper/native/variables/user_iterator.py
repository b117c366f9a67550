"""Iterators whose class is the program's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepper.native.exc import Unsupported, unimplemented
from stepper.native.variables.base import VariableTracker, tracker_class
from stepper.native.variables.exceptions import ObservedException
from stepper.native.variables.iter import IteratorVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.variables.user_defined import UserDefinedObjectVariable


@tracker_class
class UserIteratorVariable(IteratorVariable):
    """An object with `__next__`, while it is iterated: it is that object."""

    is_made = False

    obj: UserDefinedObjectVariable
    """The object that is iterated."""

    def python_type(self) -> type:
        return self.obj.python_type()

    def parts(self) -> Sequence[VariableTracker]:
        return [self.obj]

    def listed(self, tx: Translator) -> list[VariableTracker]:
        return self.obj.listed(tx)

    def next_variable(self, tx: Translator) -> VariableTracker | None:
        try:
            return self.obj.special(tx, "__next__", [])
        except ObservedException as error:
            if not error.counts_as(StopIteration):
                raise
            if error.value.args:  # who delegates to it is given that
                raise self.refuse("what comes with a StopIteration") from None
            return None

    def ended(self, tx: Translator) -> Unsupported:
        return unimplemented("what comes with a StopIteration of the program's")

    def reconstruct(self, codegen: Codegen) -> None:
        codegen(self.obj)
