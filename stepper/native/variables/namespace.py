"""Global variables that the frame sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepper.native.variables.base import VariableTracker, tracker_class

if TYPE_CHECKING:
    from stepper.native.protocols import Translator


@tracker_class
class NamespaceVariable(VariableTracker):
    """A module's global variables, as something that the frame changes."""

    namespace: dict[str, object]
    """The dictionary."""


def stored_in(tx: Translator, namespace: dict[str, object], name: str) -> VariableTracker | None:
    """What the frame has put into a global variable; None: nothing."""
    known = tx.output.variables.get(id(namespace))
    if known is None or not isinstance(known[1], NamespaceVariable):
        return None
    stored = tx.output.side_effects.load_attr(known[1], name)
    return stored and tx.realize(stored)
