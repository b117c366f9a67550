"""Variables of `contextvars`: set and put back within one frame, nobody has seen a change.

Only then can such a frame be captured; one that is still set where the frame returns or breaks is
refused. What one holds that the frame has not set is asked again by the guards, which run in the
context of the call.
"""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING

from stepper.native.source import CallSource
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationNew,
    Keywords,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.constant import ConstantVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Translator


def found_in(variable: contextvars.ContextVar[object]) -> tuple[object, ...]:
    """What a variable holds in this context; empty: nothing."""
    try:
        return (variable.get(),)
    except LookupError:
        return ()


@tracker_class
class ContextVariable(HasBuiltinMethods):
    """A `ContextVar`."""

    python_class = contextvars.ContextVar

    value: contextvars.ContextVar[object]
    """The variable."""

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        effects = tx.output.side_effects
        match name, args:
            case "set", [value] if not kwargs:
                before = effects.load_attr(self, "value")
                effects.store_attr(self, "value", value)
                options = self.propagate(self, value)
                changes = AttributeMutationNew()
                return ContextTokenVariable(self, before, mutation_type=changes, **options)
            case "reset", [ContextTokenVariable() as token] if not kwargs:
                if token.var.mutation_type is self.mutation_type and not token.is_used(tx):
                    token.use(tx)
                    if token.before is None:
                        effects.forget(self)
                    else:
                        effects.store_attr(self, "value", token.before)
                    return ConstantVariable(None)
            case "get", [] if not kwargs:
                if (now := effects.load_attr(self, "value")) is not None:
                    return tx.realize(now).with_guards(self.guards)
                if self.source is not None:
                    place = CallSource(self.source, found_in)
                    held = tx.build(place, found_in(self.value)).unpack(tx)
                    if held:
                        return tx.realize(held[0]).with_guards(self.guards)
        raise self.refuse_method(name)


@tracker_class
class ContextTokenVariable(VariableTracker):
    """What `ContextVar.set` returns."""

    python_class = contextvars.Token

    var: ContextVariable
    """Which was set."""
    before: VariableTracker | None
    """What it had been set to in this frame, None: it had not been."""

    def is_used(self, tx: Translator) -> bool:
        """Whether the variable was put back with it, which can be done once."""
        return tx.output.side_effects.load_attr(self, "used") is not None

    def use(self, tx: Translator) -> None:
        """The variable is put back."""
        tx.output.side_effects.store_attr(self, "used", ConstantVariable(True))
