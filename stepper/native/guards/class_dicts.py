"""Reads classes without running code of theirs, and notes what has been read.

A metaclass may answer for `__dict__` or `__mro__` itself, so both are read as `type` has them.

What a class has, and what it lacks, decides what reading an attribute, a call or a truth test
means; and anybody can put something else there later. So all that the translator looks up while it
interprets a frame is noted here, in the translation's `Consulted`, whoever asks and why, and the
entry checks each class once (`ClassCheck`): as long as nothing was changed in it, by one number.
Classes that cannot be changed need no check.

What was found is known again by its identity. It is not held, or a class would be kept alive by the
entries that are to die with it; so what cannot be referred to weakly, as a property, is known by
the functions in it, or by its class. That is enough: the value itself is guarded where it is used.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple

from stepper import _C
from stepper.native.exc import unimplemented
from stepper.native.library import is_library
from stepper.support.words import Classes, class_name, one_of

_DICT: Any = type.__dict__["__dict__"]
_MRO: Any = type.__dict__["__mro__"]
_FLAGS: Any = type.__dict__["__flags__"]
_DICT_OFFSET: GetSetDescriptorType = type.__dict__["__dictoffset__"]
_MODULE: GetSetDescriptorType = type.__dict__["__module__"]
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE

MISSING: object = object()


class Consulted:
    """What one translation has found in classes."""

    def __init__(self) -> None:
        self._classes: dict[int, tuple[type, dict[tuple[str, int], tuple[type, object]]]] = {}
        self.assigned: set[tuple[type, str]] = set()
        """Classes with names that the frame assigns to: what is found there is not what it will
        be."""

    def note(self, cls: type) -> dict[tuple[str, int], tuple[type, object]]:
        """The order of its bases was looked at; returns what was found there, by name and by the
        place in the order where the search began."""
        entry = self._classes.get(id(cls))
        if entry is None:
            entry = self._classes[id(cls)] = (cls, {})
        return entry[1]

    def find(self, cls: type, name: str, start: int) -> tuple[type, object]:
        """See the function: what was found once is there for all of the translation."""
        if self.assigned and any((each, name) in self.assigned for each in _MRO.__get__(cls)):
            raise unimplemented(f"attribute {name} of a class, which was assigned to")
        known = self.note(cls)
        found = known.get((name, start))
        if found is None:
            found = known[name, start] = _find(cls, name, start)
        return found

    def classes(self) -> list[Found]:
        """All of it, for classes that can be changed."""
        return [Found(cls, names) for cls, names in self._classes.values() if not is_fixed(cls)]

    def clear(self) -> None:
        """Let go of it."""
        self._classes.clear()
        self.assigned.clear()


class Found(NamedTuple):
    """What was found in one class, by name and by where the search began."""

    cls: type
    names: dict[tuple[str, int], Any]

    def __str__(self) -> str:
        return f"{class_name(self.cls)}: " + ", ".join(sorted({name for name, _ in self.names}))


_noting: list[Consulted] = []
"""What the translations that are going on have consulted, the innermost last; one thread has
them."""


def note_in(consulted: Consulted) -> None:
    """Note what is looked up from now on, until `note_as` is told otherwise."""
    _noting.append(consulted)


def notings() -> int:
    """How many notes are being taken, for `note_as`."""
    return len(_noting)


def note_as(before: int) -> None:
    """Go on with the notes that were being taken then."""
    del _noting[before:]


def class_dict(cls: type) -> MappingProxyType[str, Any]:
    """The class's own attributes; what is read of them is not noted."""
    found: MappingProxyType[str, object] = _DICT.__get__(cls)
    return found


def order_of(cls: type) -> tuple[type, ...]:
    """The class and its bases, in the order in which they are asked; empty while it is made."""
    if _noting:
        _noting[-1].note(cls)
    found: tuple[type, ...] | None = _MRO.__get__(cls)
    return found or ()


def is_derived(cls: type, base: type) -> bool:
    """Whether a class is another one, or derived from it; neither is asked."""
    return one_of(base, order_of(cls))


def place_of(owner: type, order: tuple[type, ...]) -> int:
    """Where a class stands in an order."""
    return next(place for place, each in enumerate(order) if each is owner)


def flags_of(cls: type) -> int:
    """What Python knows of a class, as bits."""
    found: int = _FLAGS.__get__(cls)
    return found


def has_dict(cls: type) -> bool:
    """Whether objects of a class have a dictionary of their own."""
    return bool(_DICT_OFFSET.__get__(cls))


def module_of(cls: type) -> str:
    """The module that a class says it is of, whatever its class says; empty: of none."""
    try:
        said: object = _MODULE.__get__(cls)
    except AttributeError:
        return ""
    return said if type(said) is str else ""


def says_its_class(kind: type) -> bool:
    """Whether `__class__` of the class's objects is of its own making."""
    return lookup(kind, "__class__") is not object.__dict__["__class__"]


def has(cls: type, name: str) -> bool:
    """Whether the class, or a base, has the name."""
    return lookup(cls, name) is not MISSING


_PLAIN = Classes(type(None), bool, int, float, str)
"""Classes of values of which there are no weak references."""


def has_finalizer(value: object) -> bool:
    """Whether it matters when the value dies: it has a `__del__`, or is, or has, a weak reference
    that tells somebody (but for what a library keeps of it, and our own entries that end with it).
    What is read is not noted."""
    if type(value) in _PLAIN:  # each cached call asks, and mostly of these
        return False
    order = _MRO.__get__(type(value)) or ()
    told = any(map(_tells, (value, *weakref.getweakrefs(value))))
    return told or any("__del__" in class_dict(each) for each in order)


_OF_ENTRIES = (_C.__name__, "Lifeline")
"""Whose method is told when a value dies that an entry is to end with."""


def _tells(reference: object) -> bool:
    if not issubclass(type(reference), weakref.ReferenceType):  # a proxy: it answers for the object
        return False
    callback = weakref.ReferenceType.__dict__["__callback__"].__get__(reference)
    code = getattr(callback, "__code__", None)
    if callback is None or (code and is_library(code.co_filename)):
        return False
    owner = type(callback.__self__) if type(callback) is BuiltinFunctionType else object
    return (module_of(owner), class_name(owner)) != _OF_ENTRIES


def lookup(cls: type, name: str) -> object:
    """What the first class of the order that has the name has for it; `MISSING`: none has."""
    return find(cls, name)[1]


def note_all(cls: type, *others: str) -> None:
    """Note all that a class and its bases have, and what there is under the other names, too: for a
    class of which the translator knows what it does as a whole."""
    for each in order_of(cls):
        for name in class_dict(each):
            lookup(cls, name)
    for name in others:
        lookup(cls, name)


def find(cls: type, name: str, start: int = 0) -> tuple[type, Any]:
    """The first class of the order that has the name, and what it has; `(object, MISSING)`: none.

    start: where in the order the search begins.
    """
    return _noting[-1].find(cls, name, start) if _noting else _find(cls, name, start)


def _find(cls: type, name: str, start: int) -> tuple[type, object]:
    read = _DICT.__get__
    order = _MRO.__get__(cls) or ()
    for each in order[start:] if start else order:
        own = read(each)
        if name in own:
            return each, own[name]
    return object, MISSING


def is_fixed(cls: type) -> bool:
    """Whether nothing can be put into a class."""
    return bool(flags_of(cls) & _IMMUTABLE)


# --- known again


def recheck_of(found: Found) -> Callable[[type], bool]:
    """A function that says whether the same is found again."""
    order = [weakref.ref(each) for each in _MRO.__get__(found.cls) or ()]
    marks = [
        (name, start, weakref.ref(owner), _mark(value))
        for (name, start), (owner, value) in found.names.items()
    ]

    def recheck(cls: type) -> bool:
        now = _MRO.__get__(cls) or ()
        if len(now) != len(order) or any(a is not b() for a, b in zip(now, order, strict=True)):
            return False
        for name, start, owner, mark in marks:
            where, value = _find(cls, name, start)
            if where is not owner() or _mark(value) != mark:
                return False
        return True

    return recheck


_FIXED = Classes(
    GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType,
    type(None), type(Ellipsis), type(NotImplemented),
)  # fmt: skip
"""Classes of which nobody can make another object in the place of one."""
_CONSTANTS = Classes(bool, str, bytes)
_OF_FUNCTIONS = Classes(staticmethod, classmethod)


def _mark(value: Any) -> object:
    """What is equal to the mark of the same value, and of no other; holds nothing alive that could
    hold a class."""
    kind = type(value)
    if kind in _FIXED or value is MISSING:
        return kind, id(value)
    if kind in _CONSTANTS:
        return kind, value
    if kind is tuple:
        return kind, tuple(map(_mark, value))
    if kind is property:
        return kind, tuple(map(_mark, (value.fget, value.fset, value.fdel)))
    if kind in _OF_FUNCTIONS:
        return kind, _mark(value.__func__)
    try:
        return _Identity(weakref.ref(value))
    except TypeError:
        return class_name(kind), _Identity(weakref.ref(kind))


class _Identity:
    """Equal as long as both refer to one object that is alive; `weakref` compares objects."""

    __slots__ = ("_reference",)

    def __init__(self, reference: weakref.ref[object]) -> None:
        self._reference = reference

    __hash__ = None  # type: ignore[assignment]  # how a class says that it has none

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Identity:
            return NotImplemented
        mine = self._reference()
        return mine is not None and mine is other._reference()
