"""What is checked first: that which most likely tells one call from another.

A miss costs what is checked until something fails, once for each entry. A model has hundreds of
guards on its modules and functions, which hardly ever change, and a few on its arguments, which do.
So the guards of small arguments come first, behind those of the world, and their tensors are
checked before anything else is looked at.

What was found in classes comes next to the world: it costs a comparison each, and a check that
reads an attribute of an object would run what somebody has put into its class meanwhile.

The guards of one argument keep their order among each other, since a type is checked before an
attribute of it is read. Those of different arguments do not need each other; what speaks of
several, or of a global, stays behind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stepper.native.guards.guard import Guard

_ROOT = re.compile(r"\bL\['\w+'\]|\bG\[|\b__\w+")
_SMALL = 32
"""Guards of an argument that is looked at first."""
_FEW = 16
"""So many guards may stand before the tensors' without making a miss slow."""
_OF_CLASSES = "CLASS_ATTRIBUTES"
_OF_SEVERAL = frozenset({"NO_ALIASING", "DUPLICATE_INPUT", "SHAPE_ENV"})


class Order(NamedTuple):
    """The guards of an entry."""

    first: list[Guard]
    rest: list[Guard]
    """Empty where there are so few that their order does not matter."""


def in_order(guards: Iterable[Guard]) -> Order:
    """The order in which guards are to be checked."""
    given = sorted(guards, key=lambda guard: (bool(guard.name), guard.kind != _OF_CLASSES))
    roots = [_root(guard) for guard in given]
    sizes = Counter(roots)
    large = {root for root, count in sizes.items() if count > _SMALL}
    large |= {root for guard, root in zip(given, roots, strict=True) if guard.kind == "NN_MODULE"}
    early = [
        not guard.name or guard.kind == _OF_CLASSES or (root is not None and root not in large)
        for guard, root in zip(given, roots, strict=True)
    ]
    rest = [guard for guard, first in zip(given, early, strict=True) if not first]
    if len(rest) <= _FEW:
        return Order(given, [])
    return Order([guard for guard, first in zip(given, early, strict=True) if first], rest)


def _root(guard: Guard) -> str | None:
    """The one argument that a guard is about; None: it is about something else, too."""
    if "L[" not in guard.name or guard.kind in _OF_SEVERAL:
        return None
    found = set(_ROOT.findall(guard.name))
    if len(found) != 1:
        return None
    root: str = found.pop()
    return root if root.startswith("L[") else None
