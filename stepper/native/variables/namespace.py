"""Global variables that the frame sets."""

from __future__ import annotations

from typing import Unpack

from stepper.native.variables.base import TrackerOptions, VariableTracker


class NamespaceVariable(VariableTracker):
    """A module's global variables, as something that the frame changes.

    namespace: the dictionary.
    """

    def __init__(self, namespace: dict[str, object], **options: Unpack[TrackerOptions]) -> None:
        super().__init__(**options)
        self.namespace = namespace
