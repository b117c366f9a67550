"""Whether a class counts as a subclass of another, without running anybody's code.

Of a class whose metaclass asks as `type` does the order of classes says it. An abstract class is
asked by `ABCMeta`: it calls the hooks of the class and of all its subclasses, and looks at what has
been registered with any of them. So first it is made sure that there are no hooks but those of
Python's own abstract classes; then it may be asked. That something counts as a subclass is for
good; that it does not, a later `register` can change: Python counts these, and so the question is
asked again only when there has been one.
"""

from __future__ import annotations

import abc
import types
import typing
from _abc import _get_dump  # type: ignore[import-not-found]  # no stub has it
from collections.abc import Iterable
from typing import Any

import torch

from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import MISSING, has, is_derived, lookup
from stepper.native.guards.guard_builder import GuardBuilder

_NO_HOOK: object = object.__dict__["__subclasshook__"]
_CHECKS = ("__instancecheck__", "__subclasscheck__")
_ASKED = (*_CHECKS, "__subclasses__")
_BY_ABC = {name: lookup(abc.ABCMeta, name) for name in _ASKED}
_PROTOCOLS = type(typing.Protocol)
_MEMBERS: Any = vars(typing)["_get_protocol_attrs"]
_STANDARD = ("collections.abc", "numbers", "typing")


def is_subclass(kind: type, of: type) -> bool:
    """`issubclass`.

    Raises:
        Unsupported: it runs somebody's code.
    """
    if _is_abstract(type(of)) and _may_be_asked(kind, of):
        if is_derived(kind, of) and _has_no_hook(of):
            return True
        if of.__module__ in _STANDARD or _runs_nothing(of):
            return issubclass(kind, of)
    elif isinstance(of, type(torch.Tensor)) or _is_asked_plainly(type(of)):
        return is_derived(kind, of)
    raise unimplemented(f"isinstance with {of.__name__}, whose class is {type(of).__name__}")


def _is_asked_plainly(meta: type) -> bool:
    return all(lookup(meta, name) is type.__dict__[name] for name in _CHECKS)


def counts_as(tx: Any, kind: type, of: type) -> bool:
    """`issubclass`, with guards on what was asked for it.

    Raises:
        Unsupported: it runs somebody's code.
    """
    if is_subclass(kind, of):
        return True
    if _is_abstract(type(of)):
        name = f"not issubclass({kind.__qualname__}, {of.__qualname__})"
        key = id(kind), id(of)
        install = tx.output.install_guard
        tx.output.chosen(install(None, GuardBuilder.NOT_SUBCLASS, (kind, of), name, key=key))
    return False


def asked_of_objects(kind: type, of: type) -> list[str]:
    """The attributes that an object has to have where its class did not say that it counts as an
    instance: those of a protocol; of another class there are none.

    Raises:
        Unsupported: something of the object's class would be run for it.
    """
    if not _is_protocol(of):
        return []
    names: list[str] = sorted(_MEMBERS(of))
    kinds = [
        type(found) for found in (lookup(kind, name) for name in names) if found is not MISSING
    ]
    if has(kind, "__getattr__") or any(each is not types.FunctionType for each in kinds):
        raise unimplemented(f"isinstance with {of.__name__}, for which attributes are computed")
    return names


def _is_protocol(of: type) -> bool:
    return type(of) is _PROTOCOLS and lookup(of, "_is_protocol") is True


def _is_abstract(meta: type) -> bool:
    """Whether `ABCMeta` itself asks for a metaclass, or that of protocols does."""
    return meta is _PROTOCOLS or all(lookup(meta, name) is _BY_ABC[name] for name in _ASKED)


def _may_be_asked(kind: type, of: type) -> bool:
    """Whether a protocol answers for a class, and looks at nothing but dictionaries of classes."""
    if not _is_protocol(of):
        return True
    plain = type(kind) is type or _is_abstract(type(kind))
    methods = all(type(lookup(of, name)) is types.FunctionType for name in _MEMBERS(of))
    return plain and methods and lookup(of, "_is_runtime_protocol") is True


def _runs_nothing(of: type) -> bool:
    """Whether to ask an abstract class runs nothing but Python's own code."""
    return _has_no_hook(of) and all(
        _is_asked_plainly(type(each)) or (_is_abstract(type(each)) and _runs_nothing(each))
        for each in (*_registered(of), *type.__subclasses__(of))
    )


def _has_no_hook(of: type) -> bool:
    hook = lookup(of, "__subclasshook__")
    hook = hook.__func__ if type(hook) is classmethod else hook
    return hook is _NO_HOOK or getattr(hook, "__module__", "") in _STANDARD


def _registered(of: type) -> Iterable[type]:
    return [each for each in (reference() for reference in _get_dump(of)[0]) if each is not None]
