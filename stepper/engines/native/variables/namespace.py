"""Global variables that the frame sets."""

from __future__ import annotations

from typing import Any

from stepper.engines.native.variables.base import VariableTracker


class NamespaceVariable(VariableTracker):
    """A module's global variables, as something that the frame changes.

    namespace: the dictionary.
    """

    def __init__(self, namespace: dict[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self.namespace = namespace
