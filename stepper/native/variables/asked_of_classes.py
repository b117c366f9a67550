"""What is asked of the class of an object of the program's."""

from __future__ import annotations

import copyreg
import types
from typing import TYPE_CHECKING

from stepper.native import polyfills
from stepper.native.guards.class_dicts import (
    MISSING,
    class_dict,
    find,
    has,
    has_dict,
    lookup,
    order_of,
    place_of,
)
from stepper.native.source import AttrSource, GetItemSource, GlobalSource, Source
from stepper.native.variables import containers

if TYPE_CHECKING:
    from stepper.native.protocols import Translator
    from stepper.native.variables.base import VariableTracker

REDUCE = object.__dict__["__reduce_ex__"]
MAKER = GlobalSource("__newobj__", "copyreg", vars(copyreg))
"""Where C finds what makes an empty copy."""
_SAYS_ITS_STATE = ("__getnewargs__", "__getnewargs_ex__", "__copy__", "__deepcopy__")


def is_reduced_plainly(kind: type) -> bool:
    """Whether all that is copied of an instance is its dictionary."""
    own = ("__reduce__", "__getstate__")
    return (
        vars(copyreg).get("__newobj__") is polyfills.NEW_OBJECT
        and all(lookup(kind, name) is object.__dict__.get(name, MISSING) for name in own)
        and not any(has(kind, name) for name in _SAYS_ITS_STATE)
        and containers.container_of(kind) is None
        and has_dict(kind)
        and not any("__slots__" in class_dict(each) for each in order_of(kind))
        and kind.__basicsize__ == _PLAIN_SIZE
    )


class _Plain:
    pass


_PLAIN_SIZE = _Plain.__basicsize__


def assigned_in(tx: Translator, cls: type, name: str) -> VariableTracker | None:
    """What the frame has stored under the name in a class, or the first base that has it; None:
    nothing."""
    if not tx.output.consulted.assigned:
        return None
    for each in order_of(cls):
        known = tx.output.contents.get(id(each))
        stored = known and tx.output.side_effects.load_attr(known, name)
        if stored is not None or name in class_dict(each):
            return stored and tx.realize(stored)
    return None


def in_class(tx: Translator, source: Source, cls: type, name: str) -> VariableTracker:
    """The tracker of what the class, which is there, or a base has in its dictionary."""
    owner, found = find(cls, name)
    owned = GetItemSource(AttrSource(source, "__mro__"), place_of(owner, order_of(cls)))
    return tx.build(GetItemSource(AttrSource(owned, "__dict__"), name), found)


def makes_alias(cls: type) -> bool:
    """Whether a subscript of a class says a type, and runs nothing of the program's."""
    found = find(cls, "__class_getitem__")[1]
    made_by = getattr(getattr(found, "__func__", None), "__module__", "")
    in_c = type(found) is types.ClassMethodDescriptorType
    return in_c or made_by in ("types", "typing", "collections.abc")
