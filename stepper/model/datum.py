"""Values as data: what a comparison keeps of the two things that it compares.

A guard wants `(2, 3)` and finds `[2, 3]`, or wants `1` and finds `'1'`. Written as text, each of
them would have to be parsed by whoever asks whether it is a number that grows; and text that was
cut says something else than the value. So plain values are kept as they are, each with its type:
None, bool, int of any size, float (also `-0.0` and NaN), complex, str, bytes, Ellipsis, and tuples,
lists, sets, frozensets, dicts, slices and ranges of such. A tensor is kept by its properties.
Whatever else there is (a class, a function, an object of the program) is kept in words, as
`Words`, and so is a value too large to keep; words are shown and compared, and never taken apart.

`datum` asks nothing of an object of the program: only exact builtin types are looked into.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import msgspec

from stepper.model.value import TensorMeta

MAX_ITEMS = 1_000
"""Elements of one value that are kept, in all its containers together."""
MAX_TEXT = 100_000
"""Characters or bytes of one value that are kept."""

_INT64 = range(-(2**63), 2**63)


class Words(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, tag="words"):
    """Something that is no plain value, in words; empty: it is not known."""

    text: str
    another: bool = False
    """Whether it is another object than the expected one, which is called the same."""


class Tensor(msgspec.Struct, frozen=True, array_like=True, tag="tensor"):
    """A tensor, by its properties."""

    cls: str
    """Name of its class."""
    meta: TensorMeta


class Big(msgspec.Struct, frozen=True, array_like=True, tag="int"):
    """An int that does not fit 64 bits: its two's complement, the least significant byte first."""

    little: bytes


class Complex(msgspec.Struct, frozen=True, array_like=True, tag="complex"):
    """A complex number."""

    real: float
    imag: float


class Octets(msgspec.Struct, frozen=True, array_like=True, tag="bytes"):
    """A bytes object."""

    data: bytes


class Surrogates(msgspec.Struct, frozen=True, array_like=True, tag="str"):
    """A str with lone surrogates, which are no Unicode text."""

    data: bytes
    """As UTF-8 would be, with the surrogates in it."""


class Many(msgspec.Struct, frozen=True, array_like=True, tag="many"):
    """A container, a slice or a range by what it is made of; a dict by keys and values in turn."""

    kind: Literal["tuple", "list", "set", "frozenset", "dict", "slice", "range", "ellipsis"]
    items: tuple[Datum, ...]


Datum = (
    None | bool | int | float | str
    | Words | Tensor | Big | Complex | Octets | Surrogates | Many
)  # fmt: skip
"""A value as data."""

UNKNOWN = Words("")
"""Stands where it is not known what there was."""


def datum(value: object, words: Callable[[object], str]) -> Datum:
    """A value as data; `words` says what is no plain value, and asks nothing of it."""
    try:
        return _Reader(words).read(value)
    except _TooLarge:
        return Words(words(value))


class _TooLarge(Exception):
    pass


class _Reader:
    def __init__(self, words: Callable[[object], str]) -> None:
        self._words = words
        self._items = MAX_ITEMS
        self._text = MAX_TEXT

    def read(self, value: object) -> Datum:
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return value  # type: ignore[return-value]  # by its exact type
        if kind is int:
            return self._int(value)  # type: ignore[arg-type]  # by its exact type
        if kind is str:
            return self._str(value)  # type: ignore[arg-type]  # by its exact type
        if kind is bytes:
            return Octets(self._kept(value))  # type: ignore[arg-type]  # by its exact type
        if kind is complex:
            return Complex(value.real, value.imag)  # type: ignore[attr-defined]  # its exact type was asked for
        parts = _parts(value)
        if parts is None:
            return Words(self._words(value))
        self._items -= len(parts[1])
        if self._items < 0:
            raise _TooLarge
        try:
            return Many(parts[0], tuple(map(self.read, parts[1])))
        except RecursionError:  # it is in itself
            raise _TooLarge from None

    def _int(self, value: int) -> Datum:
        if value in _INT64:
            return value
        if value.bit_length() > 8 * MAX_TEXT:
            raise _TooLarge
        return Big(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))

    def _str(self, value: str) -> Datum:
        self._text -= len(value)
        if self._text < 0:
            raise _TooLarge
        try:
            value.encode()
        except UnicodeEncodeError:
            return Surrogates(value.encode("utf-8", "surrogatepass"))
        return value

    def _kept(self, value: bytes) -> bytes:
        self._text -= len(value)
        if self._text < 0:
            raise _TooLarge
        return value


def _parts(value: Any) -> tuple[Any, list[object]] | None:
    """The kind of a container and what it is made of; None: it is none that is looked into."""
    kind = type(value)
    if _is_one(kind, tuple, list, set, frozenset):
        return kind.__name__, list(value)
    if kind is dict:
        return "dict", [part for pair in value.items() for part in pair]
    if _is_one(kind, slice, range):
        return kind.__name__, [value.start, value.stop, value.step]
    return ("ellipsis", []) if value is ... else None


def _is_one(kind: type, *kinds: type) -> bool:
    """Whether a type is one of some; `in` would ask its metaclass, which may be the program's."""
    return any(kind is each for each in kinds)


@lru_cache(maxsize=16_384)
def literal(text: str) -> Datum:
    """A constant as a compiler writes it in a guard's words: as a value, if it is a plain one."""
    try:
        return datum(ast.literal_eval(text), str)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return Words(text)


def size(text: str) -> Datum:
    """A size or stride as data: a number, or the symbol in words."""
    return int(text) if text.lstrip("-").isdecimal() else Words(text)


def number(text: str) -> Datum:
    """What a compiler writes for the value of a symbol, as data: a number, or not known."""
    whole = size(text)
    if isinstance(whole, int):
        return whole
    try:
        return float(text)
    except ValueError:
        return UNKNOWN


def alike(one: Datum, other: Datum) -> bool:
    """Whether two are the same value of the same type: 1 is neither 1.0 nor True, and NaN is
    NaN."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    return one == other if type(one) in (int, str) else text_of(one) == text_of(other)


class NotAValue(ValueError):
    """A datum is words, or holds some: there is no value to be had."""


def value_of(found: Datum) -> object:
    """The value that a datum is of.

    Raises:
        NotAValue: it is kept in words, or is a tensor.
    """
    match found:
        case Words() | Tensor():
            raise NotAValue(text_of(found))
        case Big(little):
            return int.from_bytes(little, "little", signed=True)
        case Complex(real, imag):
            return complex(real, imag)
        case Octets(data):
            return data
        case Surrogates(data):
            return data.decode("utf-8", "surrogatepass")
        case Many("ellipsis", _):
            return ...
        case Many("dict", items):
            values = [value_of(each) for each in items]
            return dict(zip(values[::2], values[1::2], strict=True))
        case Many(kind, items):
            values = [value_of(each) for each in items]
            makers: dict[str, Callable[..., object]] = {"slice": slice, "range": range}
            if kind in makers:
                return makers[kind](*values)
            return {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind](values)
        case _:
            return found


_AROUND = {"tuple": ("(", ")"), "list": ("[", "]"), "set": ("{", "}")}


def text_of(found: Datum) -> str:
    """A datum in one line: a plain value as Python writes it, anything else in its words."""
    if type(found) is int:  # most of them are sizes
        return str(found)
    match found:
        case Words(text, another):
            return f"another {text}" if another else text
        case Tensor(kind, meta):
            name = "" if kind == "Tensor" else f"{kind} "
            return name + meta.brief + (", requires_grad" if meta.requires_grad else "")
        case Many("ellipsis", _):
            return "..."
        case Many("dict", items):
            pairs = zip(items[::2], items[1::2], strict=False)
            return "{" + ", ".join(f"{text_of(k)}: {text_of(v)}" for k, v in pairs) + "}"
        case Many(kind, items):
            inner = ", ".join(map(text_of, items))
            if kind in ("slice", "range"):
                return f"{kind}({inner})"
            if kind == "frozenset":
                return f"frozenset({{{inner}}})" if items else "frozenset()"
            if kind == "set" and not items:
                return "set()"
            left, right = _AROUND[kind]
            comma = "," if kind == "tuple" and len(items) == 1 else ""
            return f"{left}{inner}{comma}{right}"
        case Big(little):
            bits = 8 * len(little)
            return repr(value_of(found)) if bits <= 4_096 else f"an int of about {bits} bits"
        case _:
            return repr(value_of(found))
