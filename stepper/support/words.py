"""Objects in words, without asking them anything.

No method of a user's object is called: not its `__repr__`, nor `__getattr__`, `__hash__`, `__eq__`,
nor a metaclass's. Only exact builtin types and those of torch are shown by their own repr.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any

import torch

from stepper._C import MAX_TEXT, shortened_at
from stepper._C import fields as fields_of

class_name: Callable[[type], str] = type.__dict__["__name__"].__get__
"""A class's own name, whatever its metaclass says."""
qualified_name: Callable[[type], str] = type.__dict__["__qualname__"].__get__
"""Its name, and before that those in which it was made."""
module_of: Callable[[type], object] = type.__dict__["__module__"].__get__
"""The name of the module in which it was made; of what says that of its objects only, as a class of
Cython's does, what reads it of them."""
classes_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
"""A class and its bases, in the order in which they are asked, whatever its metaclass says."""
is_subclass = type.__subclasscheck__
"""(parent, child): asks neither. A lookup would ask a metaclass's `__hash__`, `in` its `__eq__`."""


def one_of(kind: type, kinds: Iterable[type]) -> bool:
    """Whether a type is one of some, without asking its metaclass, which may be the program's: `in`
    would ask it for a hash, or whether two are equal."""
    return any(kind is each for each in kinds)


class Classes:
    """Some classes. What else has one, `in` asks for no hash, nor whether it is equal to one."""

    __slots__ = ("_ids", "kinds")

    def __init__(self, *kinds: type) -> None:
        self.kinds = kinds
        self._ids = frozenset(map(id, kinds))

    def __contains__(self, kind: object) -> bool:
        return id(kind) in self._ids

    def __iter__(self) -> Iterator[type]:
        return iter(self.kinds)


_PLAIN_TYPES = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented),
        torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format,
    }
)  # fmt: skip


def is_plain(kind: type) -> bool:
    """Whether values of a type can be shown by their own repr."""
    return type(kind) is type and kind in _PLAIN_TYPES


def plain_text(value: object) -> str:
    """A bounded repr for exact builtin and torch types; for anything else, only its type."""
    kind = type(value)
    if kind is str or kind is bytes:
        if len(value) > MAX_TEXT:  # type: ignore[arg-type]  # its exact type was asked for
            return f"{_beginning(value)!r}…"
        return repr(value)
    if kind is int:
        bits = value.bit_length()  # type: ignore[attr-defined]  # its exact type was asked for
        return repr(value) if bits <= 4 * MAX_TEXT else f"<int of {bits} bits>"
    if value is None or kind is bool or is_plain(kind):
        return repr(value)
    if kind is tuple or kind is list or kind is frozenset:
        inner = ", ".join(plain_text(item) for item in list(value)[:10])  # type: ignore[call-overload]  # its exact type was asked for
        inner += ", …" if len(value) > 10 else ""  # type: ignore[arg-type]  # its exact type was asked for
        if kind is tuple:
            return f"({inner},)" if len(value) == 1 else f"({inner})"  # type: ignore[arg-type]  # its exact type was asked for
        return f"[{inner}]" if kind is list else f"frozenset({{{inner}}})"
    return callable_name(value) or f"<{class_name(kind)}>"


def _beginning(value: Any) -> str | bytes:
    if type(value) is str:
        return value[: shortened_at(value, MAX_TEXT)]
    read = value[: MAX_TEXT + 1].decode("latin-1")
    return bytes(value[: shortened_at(read, MAX_TEXT)])


def callable_name(value: object) -> str:
    """The qualified name of a function, builtin, class or module; empty for anything else."""
    kind = type(value)
    if (
        kind is types.FunctionType
        or kind is types.BuiltinFunctionType
        or kind is types.MethodDescriptorType
    ):
        module = getattr(value, "__module__", None)
        name = str(value.__qualname__)  # type: ignore[attr-defined]  # its exact type was asked for
        name = name.replace("_VariableFunctionsClass.", "")  # where torch.add really lives
        return (
            f"{module}.{name}" if type(module) is str and module not in ("", "__main__") else name
        )
    if is_subclass(type, kind):
        return class_name(value)  # type: ignore[arg-type]  # its exact type was asked for
    if kind is types.ModuleType:
        name = fields_of(value).get("__name__", "")
        return name if type(name) is str else ""
    return ""


def in_words(value: object) -> str:
    """An object of the program in words; a tensor by its class only."""
    kind = type(value)
    if kind is torch.Size:
        return plain_text(tuple(value))  # type: ignore[arg-type]  # by its exact type
    text = plain_text(value)
    if is_subclass(type, kind):
        return f"class {text}"
    if not is_plain(kind) and callable(value) and not text.startswith("<"):
        return f"{'function' if kind.__name__ == 'function' else kind.__name__} {text}"
    if kind is CodeType:
        return f"code of {value.co_qualname}"  # type: ignore[attr-defined]  # by its exact type
    return text
