"""Which objects a cache entry lives on, and who holds them.

A guard that knows an object by its address is true of another object as soon as the address is used
again. So Dynamo puts a `weakref.finalize` on every such object, which invalidates the entry when
the object dies. These finalizers are the truth about an entry's life, for entries of any age: they
are in the registry of the `weakref` module, with the object behind a weak reference. Nothing here
holds an object for longer than a call.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Iterator
from typing import Any

from stepper.engines.common.lifelines import Bond, bond_to
from stepper.engines.dynamo.versions.cache import CheckFunctionManager


def bonds_of(wrapper: object, *, newest: bool = False) -> list[Bond]:
    """What the entry with this guard manager depends on, without what lasts as long as the process.

    `newest`: it was compiled just now, so its finalizers are the last ones.
    """
    found = []
    for manager, source, reference in _finalizers(newest):
        if manager.__dict__.get("guard_manager") is wrapper:
            bond = bond_to(source, reference)
            if bond is not None:
                found.append(bond)
        elif newest and found:
            break
    found.reverse()
    return found


def all_bonds() -> dict[int, list[Bond]]:
    """What each entry depends on, by the id of its guard manager; see `bonds_of`."""
    found: dict[int, list[Bond]] = {}
    for manager, source, reference in _finalizers():
        wrapper = manager.__dict__.get("guard_manager")
        bond = bond_to(source, reference) if wrapper is not None else None
        if bond is not None:
            found.setdefault(id(wrapper), []).insert(0, bond)
    return found


def _finalizers(newest: bool = False) -> Iterator[tuple[Any, str, weakref.ref[Any]]]:
    """Dynamo's finalizers, the last one first."""
    registry: dict[Any, Any] = weakref.finalize._registry  # type: ignore[attr-defined]  # no stub has it
    for info in reversed(list(registry.values())):
        call = info.func
        if type(call) is functools.partial and type(call.func) is types.MethodType:
            manager = call.func.__self__
            if type(manager) is CheckFunctionManager:
                yield manager, str(call.keywords.get("obj_str", "")), info.weakref
