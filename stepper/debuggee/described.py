"""A value as it is told to a walk: without the value.

A walk holds no object of the program's. Its `key` says which descriptions are of one object, for as
long as that is in view; how values in view are numbered is said in csrc/record/in_view.c.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from stepper.model.value import Value


class Described(NamedTuple):
    """A value without the value.

    When the very same `Described` is handed in again, it is taken to mean that nothing changed.
    """

    key: Hashable
    value: Value
    """Its `items` are filled in from `children`."""
    children: tuple[tuple[str, Described], ...] = ()
    """What it holds, with labels like `[0]` or `.attr`; without cycles."""
    kind: type | None = None
    """Its exact type, when that is builtin or torch's own."""
