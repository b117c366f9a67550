"""What is to be tried with a program: nothing can be, from outside of this engine."""

from __future__ import annotations

from stepper.model.change import Change


def change(changes: tuple[Change, ...]) -> None:
    """See `stepper.engines.dynamo.changes.change`.

    Raises:
        ValueError: always.
    """
    raise ValueError("with the native engine nothing can be tried from outside")
