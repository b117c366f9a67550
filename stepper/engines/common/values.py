"""What a real value is, said without running anything of the user's and without keeping it.

The rules are those of `describe` (exact types only, no property, method or `__repr__` of a user's
object), with one thing more: real values are the program's own, so nothing here holds one. A
description is data, and says by its `key` (the object's address) which values are the same object;
that is true only as long as the object lives, see `stepper.debuggee.described`.

Containers show what they hold, two levels deep; of anything else the type is all that can be said
without asking it. `frozen` marks what can neither change nor hold anything: one look is enough.
"""

from __future__ import annotations

import collections
import os
import types
from collections.abc import Hashable
from itertools import islice
from typing import Any

import torch

from stepper._C import MAX_TEXT, VALUE_DEPTH, VALUE_ITEMS, Unchanged, shortened
from stepper.debuggee.described import Described
from stepper.engines.common.tensors import tensor_meta
from stepper.engines.common.versions import function_mode_is_on, without_torch_function
from stepper.model.value import MODULE_FACT, TensorMeta, Value
from stepper.support.words import callable_name, class_name, is_subclass, plain_text
from stepper.uncompiled import keep_out, leave_alone

MAX_ITEMS = VALUE_ITEMS
"""Children shown of one container; its true length is recorded beside them."""
DEPTH = VALUE_DEPTH
"""Levels of containers that are looked into."""
_MANY_KEPT = 4_000


_SEQUENCES = frozenset({tuple, list, torch.Size, collections.deque})
_SLICED = frozenset({tuple, list, torch.Size})
_SETS = frozenset({set, frozenset})
_MAPPINGS = frozenset({dict, collections.OrderedDict, collections.defaultdict})
_SLICES = (".start", ".stop", ".step")
_FROZEN_CALLABLES = frozenset(
    {types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.ModuleType}
)

FROZEN = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented),
        torch.dtype, torch.device, torch.layout, torch.memory_format, types.CodeType,
        *_FROZEN_CALLABLES,
    }
)  # fmt: skip
"""Exact types whose values, as they are described here, never change."""
LEAVES = (*FROZEN, torch.Tensor, torch.nn.Parameter)
"""Exact types whose values are described alike wherever they stand."""

NULL = Described("NULL", Value(cls="NULL", text="NULL"))
"""An empty slot of a value stack."""

_ENVIRONMENT = getattr(os.environ, "_data", None)

_tensors: dict[tuple[Any, ...], Value] = {}
_types: dict[str, Value] = {}
_words: dict[tuple[str, str, int | None, str | None], Value] = {}

unchanged = Unchanged(
    _tensors, _types, torch.Tensor, torch.nn.Parameter, torch.Size, torch.strided,
    function_mode_is_on, class_name, _FROZEN_CALLABLES, callable_name, plain_text,
    FROZEN | _SEQUENCES | _SETS | _MAPPINGS | {slice, types.CellType, types.MethodType},
)  # fmt: skip
"""`unchanged(value, described)`: whether a description still says what is so. False, too, where
nobody can say that for less than it takes to describe the value."""


def describe(value: object) -> Described:
    """What a value is now."""
    return inside(value, DEPTH)


def tensor(value: Any) -> Value:
    """The description of a tensor whose class is exactly `torch.Tensor` or `Parameter`."""
    with without_torch_function():
        layout = value.layout
        key = (
            type(value), value.dtype, value.shape, value.device, value.requires_grad, layout,
            value.stride() if layout is torch.strided else None,
        )  # fmt: skip
    try:
        return _tensors[key]
    except (KeyError, TypeError):  # symbolic sizes have no hash
        return _new_tensor(key)


def _new_tensor(key: tuple[Any, ...]) -> Value:
    kind, dtype, shape, device, requires_grad, layout, stride = key
    meta = tensor_meta(dtype, shape, stride, device, requires_grad, layout, "")
    made = Value(cls=class_name(kind), type=class_name(kind), text=_tensor_text(meta), tensor=meta)
    if all(type(size) is int for size in shape):
        if len(_tensors) >= _MANY_KEPT:
            _tensors.clear()
        _tensors[key] = made
    return made


def _tensor_text(meta: TensorMeta) -> str:
    return meta.brief + (", requires_grad" if meta.requires_grad else "")


def _frozen(value: Any, kind: type) -> Value:
    name = class_name(kind)
    if kind in _FROZEN_CALLABLES:
        return _said(name, callable_name(value))
    if kind is types.CodeType:
        return _said(name, f"<code {value.co_name}>")
    text = plain_text(value)
    return _said(name, text, constant=text)


def _said(name: str, text: str, length: int | None = None, constant: str | None = None) -> Value:
    """The very same one for the same words: who tells it knows by that what was told before."""
    key = (name, text, length, constant)
    known = _words.get(key)
    if known is None:
        if len(_words) >= _MANY_KEPT:
            _words.clear()
        known = _words[key] = Value(
            cls=name, type=name, text=text, length=length, constant=constant
        )
    return known


def inside(value: Any, depth: int) -> Described:
    """What a value is now; of what it holds so many levels are shown."""
    kind = type(value)
    # A look-up would ask a metaclass of the user's for a hash, so those come first.
    if type(kind) is not type:
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            return Described(id(value), tensor(value), (), kind)
        return Described(id(value), _other(value, kind))
    if kind in FROZEN:
        return Described(id(value), _frozen(value, kind), (), kind)
    # Deeper down less of a container is shown: that is another description of the same object.
    key = id(value) if depth == DEPTH else (id(value), depth)
    if kind in _SEQUENCES or kind in _SETS:
        return _sequence(key, value, kind, depth)
    if kind in _MAPPINGS:
        return _mapping(key, value, kind, depth)
    if kind is slice:
        pairs = tuple(zip(_SLICES, (value.start, value.stop, value.step), strict=True))
        return _holding(key, kind, pairs, depth)
    if kind is types.CellType:
        try:
            return _holding(key, kind, ((".cell_contents", value.cell_contents),), depth)
        except ValueError:
            return Described(key, Value(cls="cell", type="cell", text="empty cell"))
    if kind is types.MethodType:
        text = callable_name(value.__func__)
        made = Value(cls="method", type="method", text=text)
        return Described(key, made, (("self", Described(id(value.__self__), _brief(value))),))
    return Described(key, _other(value, kind))


def _brief(method: Any) -> Value:
    receiver = method.__self__
    return _other(receiver, type(receiver))


def _sequence(key: Hashable, value: Any, kind: type, depth: int) -> Described:
    length = len(value)
    if depth == 0:
        return Described(key, Value(cls=class_name(kind), text=_count(kind, length)))
    # A copy at once: another thread may change it.
    items = value[:MAX_ITEMS] if kind in _SLICED else list(islice(value, MAX_ITEMS))
    label = "[%d]" if kind in _SEQUENCES else "{%d}"
    children = tuple([(label % at, inside(item, depth - 1)) for at, item in enumerate(items)])
    return container(key, kind, children, length)


def _mapping(key: Hashable, value: Any, kind: type, depth: int) -> Described:
    length = len(value)
    # What is in the environment is nobody's business, whoever looks at one variable of it.
    if depth == 0 or value is _ENVIRONMENT:
        return Described(key, Value(cls=class_name(kind), text=_count(kind, length)))
    items = list(islice(dict.items(value), MAX_ITEMS))
    children = tuple([(f"[{plain_text(name)}]", inside(item, depth - 1)) for name, item in items])
    return container(key, kind, children, length)


def _holding(key: Hashable, kind: type, pairs: Any, depth: int) -> Described:
    if depth == 0:
        return Described(key, Value(cls=class_name(kind), type=class_name(kind)))
    children = tuple((label, inside(item, depth - 1)) for label, item in pairs)
    name = class_name(kind)
    inner = ", ".join(child.value.brief for _, child in children)
    return Described(key, Value(cls=name, type=name, text=f"{name}({inner})"), children)


def container(
    key: Hashable, kind: type, children: tuple[tuple[str, Described], ...], length: int
) -> Described:
    """A description of something that holds these, with their labels."""
    name = class_name(kind)
    inner = ", ".join([child.value.brief for _, child in children[:4]])
    if length > 4:
        inner += ", …"
    opening, closing = _BRACKETS.get(kind, (f"{name}(", ")"))
    if kind in _MAPPINGS:
        inner = ", ".join([f"{label[1:-1]}: {child.value.brief}" for label, child in children[:4]])
        inner += ", …" if length > 4 else ""
    elif kind is tuple and length == 1:
        inner += ","
    text = shortened(f"{opening}{inner}{closing}", MAX_TEXT)
    return Described(key, _said(name, text, length), children, kind)


_BRACKETS: dict[type, tuple[str, str]] = {
    tuple: ("(", ")"),
    list: ("[", "]"),
    dict: ("{", "}"),
    set: ("{", "}"),
}


def _count(kind: type, length: int) -> str:
    return f"{class_name(kind)} of {length}"


def _other(value: object, kind: type) -> Value:
    """Describe an object of any other type by its type alone, and a class by its name."""
    name = class_name(kind)
    if is_subclass(type, kind):
        return Value(cls=name, type=name, text=f"class {class_name(value)}")  # type: ignore[arg-type]  # it is a class
    # By the class's name, which `unchanged` looks up.
    module = is_subclass(torch.nn.Module, kind)
    known = _types.get(name)
    if known is None or bool(known.attributes) is not module:
        if len(_types) >= _MANY_KEPT:
            _types.clear()
        facts = (MODULE_FACT,) if module else ()
        known = _types[name] = Value(cls=name, type=name, text=f"<{name}>", attributes=facts)
    return known


keep_out()
leave_alone(callable_name.__code__)  # these are called from C, too
leave_alone(plain_text.__code__)
