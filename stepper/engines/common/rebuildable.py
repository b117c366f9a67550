"""Arguments of a lookup, made so that they can be made anew later: see `recorded_call`.

`values.describe` says of a container what fits on a screen, and of an object its type. That is
enough to look at, not to make it again. Here a little more is made, of a call's arguments only:

- a long container of plain values is its own literal, bounded in bytes (`Value.constant`);
- other containers are made element by element, bounded in number for the argument as a whole;
- objects that are nothing but their fields (dataclasses, named tuples, members of enumerations) are
  made field by field, if their class can be found again by its name.

Everything is read as `describe` reads it: no code of the program's runs, and nothing is held.
"""

from __future__ import annotations

import abc
import enum
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import torch

from stepper._C import MAX_TEXT, shortened
from stepper._C import fields as fields_of
from stepper.debuggee.described import Described
from stepper.engines.common.values import FROZEN, MAX_ITEMS, describe
from stepper.model.value import CLASS_FACT, MEMBER_FACT, Value
from stepper.support.words import class_name, classes_of, one_of, plain_text

MAX_BYTES = 16_384
"""How long a container's literal may be."""
_MAX_DESCRIBED = 512
"""Elements and fields of one argument that are described."""
_DEPTH = 6

_CONTAINERS = frozenset({list, tuple, dict, set, frozenset})
_LITERAL = frozenset({type(None), bool, int, str, bytes})
_MAX_BITS = 1024
_HEAP_TYPE = 1 << 9
_flags = type.__dict__["__flags__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_class_dict = type.__dict__["__dict__"].__get__


def describe_whole(value: object) -> Described:
    """What an argument is now, as far as it takes to make one like it."""
    return _Describer().describe(value, 0)


class _Describer:
    """Describes one argument."""

    def __init__(self) -> None:
        self._left = _MAX_DESCRIBED

    def describe(self, value: Any, depth: int) -> Described:
        kind = type(value)
        if depth == _DEPTH or kind is torch.Tensor or (type(kind) is type and kind in FROZEN):
            return describe(value)
        key = (id(value), "whole", depth) if depth else id(value)
        if type(kind) is type and kind in _CONTAINERS:
            return self._container(key, value, kind, depth)
        name = importable_name(kind)
        if name and type(kind) is enum.EnumMeta:
            return _member(key, value, kind, name)
        names = field_names(kind) if name else None
        found = None if names is None else _fields(value, kind, names)
        if found is None or len(found) > self._left:
            return describe(value)
        self._left -= len(found)
        children = tuple(
            (f".{name}", self.describe(item, depth + 1)) for name, item in found.items()
        )
        inner = ", ".join(f"{label[1:]}={child.value.brief}" for label, child in children[:4])
        inner += ", …" if len(children) > 4 else ""
        made = Value(
            cls=class_name(kind),
            type=class_name(kind),
            text=shortened(f"{class_name(kind)}({inner})", MAX_TEXT),
            length=len(children),
            attributes=((CLASS_FACT, name),),
        )
        return Described(key, made, children)

    def _container(self, key: Any, value: Any, kind: type, depth: int) -> Described:
        made = describe(value)._replace(key=key)
        if 2 * len(value) > MAX_BYTES:
            return made
        # At once: another thread may change it. And no copy of its kind, which compares elements.
        items: list[Any] = list(dict.items(value)) if kind is dict else list(value)
        length = len(items)
        if length > MAX_ITEMS and (literal := _literal(items, kind)):
            return made._replace(value=msgspec.structs.replace(made.value, constant=literal))
        if length > self._left:
            return made
        self._left -= length
        if kind is dict:
            pairs = [(f"[{plain_text(name)}]", item) for name, item in items]
        else:
            label = "[%d]" if one_of(kind, (list, tuple)) else "{%d}"
            pairs = [(label % at, item) for at, item in enumerate(items)]
        children = tuple([(label, self.describe(item, depth + 1)) for label, item in pairs])
        if made.value.length != length:
            made = made._replace(value=msgspec.structs.replace(made.value, length=length))
        return made._replace(children=children)


def _literal(items: list[Any], kind: type) -> str:
    """A container of plain values as Python writes it; empty: it is none, or too long."""
    if kind is frozenset:
        return ""
    sizes = [_size(part) for item in items for part in (item if kind is dict else (item,))]
    if min(sizes) < 0 or sum(sizes) > MAX_BYTES:
        return ""
    text = repr(kind(items))
    return text if len(text) <= MAX_BYTES else ""


def _size(value: Any) -> int:
    """How many characters a value has at least; negative: it is no literal."""
    kind = type(value)
    if kind is float:
        return 3 if value - value == 0 else -MAX_BYTES  # inf and nan are no literals
    if type(kind) is not type or kind not in _LITERAL:
        return -MAX_BYTES
    if kind is int:
        return 1 if value.bit_length() <= _MAX_BITS else -MAX_BYTES
    return len(value) if kind is str or kind is bytes else 1


def _member(key: Any, value: object, kind: type, name: str) -> Described:
    """A member of an enumeration; a combination of flags is none."""
    member = fields_of(value).get("_name_")
    if type(member) is not str or _class_dict(kind)["_member_map_"].get(member) is not value:
        return describe(value)
    facts = ((CLASS_FACT, name), (MEMBER_FACT, member))
    text = f"{class_name(kind)}.{member}"
    return Described(
        key, Value(cls=class_name(kind), type=class_name(kind), text=text, attributes=facts)
    )


# -- classes -----------------------------------------------------------------------------------


def importable_name(kind: type) -> str:
    """`module:qualname` of a class that can be found again by it; empty: it cannot."""
    module = _class_dict(kind).get("__module__")
    if type(module) is not str:
        return ""
    qualname = _qualname(kind)
    return f"{module}:{qualname}" if class_at(module, qualname) is kind else ""


def class_at(module: str, qualname: str) -> type | None:
    """The class of a name, in a module that was imported already: nothing is imported for it."""
    found = sys.modules.get(module)
    if type(found) is not types.ModuleType:
        return None
    names: Mapping[str, Any] = found.__dict__
    for part in qualname.split("."):
        kind = names.get(part)
        if not type.__instancecheck__(type, kind):
            return None
        names = _class_dict(kind)
    return kind


def field_names(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass or a named tuple; None for any other class."""
    own = _class_dict(kind)
    if classes_of(kind)[1:] == (tuple, object):
        names = own.get("_fields")
        return names if type(names) is tuple else None
    if not one_of(type(kind), (type, abc.ABCMeta)):
        return None
    if not all(_flags(base) & _HEAP_TYPE for base in classes_of(kind)[:-1]):
        return None
    fields = own.get("__dataclass_fields__")
    return tuple(fields) if type(fields) is dict else None


def slot(kind: type, name: str) -> Any:
    """The descriptor of a slot of a class's instances; None: there is no such slot."""
    for found in _in_classes(kind, name):
        return found if type(found) is types.MemberDescriptorType else None
    return None


def _in_classes(kind: type, name: str) -> Iterator[Any]:
    return (names[name] for names in map(_class_dict, classes_of(kind)) if name in names)


def _fields(value: Any, kind: type, names: tuple[str, ...]) -> dict[str, Any] | None:
    """What the fields hold; None: there is more to the object than that, or less."""
    if type.__subclasscheck__(tuple, kind):
        items = tuple.__iter__(value)
        return dict(zip(names, items, strict=True)) if tuple.__len__(value) == len(names) else None
    found = dict(fields_of(value))
    for name in names:
        if (descriptor := slot(kind, name)) is not None:
            try:
                found[name] = descriptor.__get__(value)
            except AttributeError:
                return None
    if found.keys() != set(names):
        return None
    return {name: found[name] for name in names}
