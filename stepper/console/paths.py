"""Value paths (`stepper.client.value_paths`), for commands."""

from __future__ import annotations

from stepper.client import value_paths
from stepper.client.value_paths import PathError
from stepper.console.commands import CommandError
from stepper.model.trace import FrameState, State
from stepper.model.value import Value, ValueId


def resolve(state: State, frame: FrameState, path: str) -> tuple[ValueId, Value]:
    """The tracker that a path leads to, and its description.

    Raises:
        CommandError: it leads nowhere.
    """
    try:
        return value_paths.resolve(state, frame, path)
    except PathError as error:
        raise CommandError(str(error)) from None
