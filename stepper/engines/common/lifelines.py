"""The objects that an entry depends on by their identity, and who keeps them alive.

Nothing here holds an object for longer than a call.
"""

from __future__ import annotations

import gc
import sys
import types
import weakref
from typing import Any, NamedTuple, TypeGuard

from stepper.engines.common.words import object_text
from stepper.model.cache import Lifeline
from stepper.model.program import PythonFrame
from stepper.support.pythons_own import is_own_module
from stepper.support.words import classes_of, is_subclass, one_of, plain_text

_HEAP_TYPE = 1 << 9
_HOLDERS = 8
"""Holders that are named."""
_WATCHING = ("stepper.engines.", "stepper.debuggee.")


class Bond(NamedTuple):
    """An entry's dependence on one object."""

    source: str
    """How the guards reach it, e.g. `type(L['x'])`."""
    object: weakref.ref[Any]
    id: int
    text: str
    """The object in words, from when it was alive."""

    def lifeline(
        self, guards: tuple[int, ...], user_line: PythonFrame | None = None, *, detail: bool = False
    ) -> Lifeline:
        """As it is now: with the rows of the guards that know the object, the line of the program
        behind them, and (`detail`) who holds the object."""
        value = self.object()
        return Lifeline(
            self.source,
            self.text,
            alive=value is not None,
            user_line=user_line,
            guards=guards,
            references=_references(value) if detail else None,
            holders=_holders(value) if detail else (),
        )


def bond_to(source: str, reference: weakref.ref[Any]) -> Bond | None:
    """The dependence on an object; None for one that has died, or lasts as long as the process."""
    value = reference()
    if value is None or _lasting(value):
        return None
    return Bond(source, reference, id(value), object_text(value))


def _lasting(value: object) -> bool:
    """Whether it is part of the interpreter, of the standard library or of torch."""
    kind = type(value)
    if one_of(kind, (types.ModuleType, types.BuiltinFunctionType)):
        return True
    if issubclass(kind, type) and not type.__dict__["__flags__"].__get__(value) & _HEAP_TYPE:
        return True
    if kind is types.FunctionType or issubclass(kind, type):
        module = (
            value.__module__
            if kind is types.FunctionType
            else type.__dict__["__dict__"].__get__(value).get("__module__")
        )
        if type(module) is str:
            return module.partition(".")[0] == "torch" or is_own_module(module)
    return False


def _is_class(value: object) -> TypeGuard[type]:
    return is_subclass(type, type(value))


def _references(value: object) -> int | None:
    """How many references there are to it, besides the caller's own and this call's; None when
    that would say nothing: a class refers to itself in several ways."""
    return None if value is None or _is_class(value) else sys.getrefcount(value) - 3


def _holders(value: object) -> tuple[str, ...]:
    """Who holds the object, in words. The garbage collector knows containers, not running frames,
    so of local variables it tells nothing."""
    found: list[str] = []
    for holder in gc.get_referrers(value) if value is not None else ():
        if type(holder) is types.FrameType:
            continue
        text = _holder_text(holder, value)
        if text and text not in found:
            found.append(text)
    if len(found) > _HOLDERS:
        found[_HOLDERS:] = [f"and {len(found) - _HOLDERS} more"]
    if value is not None and gc.get_freeze_count():
        found.append("perhaps what was there before gc.freeze() was called, which is not seen")
    return tuple(found)


def _holder_text(holder: object, value: object) -> str:
    kind = type(holder)
    if kind is dict:
        names = [name for name, item in holder.items() if item is value]  # type: ignore[attr-defined]  # its exact type was asked for
        keys = ", ".join(plain_text(name).strip("'") for name in names[:3]) or "as a key"
        owner = _owner(holder)
        if owner is None:
            return ""
        return f"{owner}: {keys}" if owner else f"a dict: {keys}"
    if kind is types.CellType:
        return "a closure's cell"
    if one_of(kind, (list, tuple, set, frozenset)):
        # What a class refers to in itself (its MRO) is no reason for it to live.
        if kind is tuple and _is_class(value) and holder is classes_of(value):
            return ""
        return f"a {kind.__name__} of {len(holder)}"  # type: ignore[arg-type]  # its exact type was asked for
    if (_is_class(value) and kind is types.GetSetDescriptorType) or _watches(kind):
        return ""
    text = object_text(holder)
    return text if not text.startswith("<") else f"an object {text}"


def _watches(kind: type) -> bool:
    """Whether an object of this class is the debugger's: it holds the variables of the call at
    which the program stands, no longer than the stop lasts."""
    module = type.__dict__["__dict__"].__get__(kind).get("__module__")
    return type(module) is str and module.startswith(_WATCHING)


def _owner(namespace: object) -> str | None:
    """Whose namespace a dict is; None: the debugger's. Empty: nobody's."""
    for name, module in list(sys.modules.items()):
        if type(module) is types.ModuleType and module.__dict__ is namespace:
            return f"module {name}"
    for referrer in gc.get_referrers(namespace):
        kind = type(referrer)
        if _watches(kind):
            return None
        if kind.__module__ != "builtins" and not issubclass(kind, type):
            return f"an object {object_text(referrer)}"
    return ""
