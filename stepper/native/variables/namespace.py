"""Global variables: where they are, and those that the frame sets."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

from stepper.native.source import GlobalSource
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


def global_source(tx: Translator, namespace: dict[str, object], name: str) -> GlobalSource:
    """Where a global variable of a function is: in a module, or in globals of its own, as what was
    made of text has them."""
    if namespace is tx.root.f_globals:
        return GlobalSource(name)
    module = namespace.get("__name__")
    known = sys.modules.get(module) if type(module) is str else None
    if known is None or getattr(known, "__dict__", None) is not namespace:
        module = _module_of(namespace) or f"globals_{id(namespace)}"
    return GlobalSource(name, str(module), namespace)


def _module_of(namespace: dict[str, object]) -> str | None:
    """The name by which the module with these variables was imported, where it calls itself
    otherwise, as `_collections_abc` does."""
    modules = dict(sys.modules).items()
    return next((name for name, each in modules if vars_of(each) is namespace), None)


def vars_of(module: object) -> dict[str, object]:
    """A module's variables; none, if it is something else in a module's place."""
    return module.__dict__ if type(module) is types.ModuleType else {}
