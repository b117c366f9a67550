"""Records and MessagePack in plain Python, for what the extension makes of them.

In a recording msgspec does this. But that was compiled for a release, and a debug build of Python
does not hear of the references that it takes and gives back; here each one counts (`counted.py`).
"""

from __future__ import annotations

import struct
from collections import namedtuple
from itertools import takewhile
from typing import Any

from msgspec import NODEFAULT, Struct


def plain(record: type[Struct]) -> Any:
    """A named tuple with the fields and the defaults of a record."""
    defaults = takewhile(lambda each: each is not NODEFAULT, record.__struct_defaults__[::-1])
    return namedtuple(record.__name__, record.__struct_fields__, defaults=[*defaults][::-1])


def unpacked(data: bytes) -> Any:
    """What a whole message says."""
    value, rest = _value(data, 0)
    assert rest == len(data)
    return value


_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_LENGTHS = {
    0xC4: (">B", bytes), 0xC5: (">H", bytes), 0xC6: (">I", bytes),
    0xD9: (">B", str), 0xDA: (">H", str), 0xDB: (">I", str),
    0xDC: (">H", list), 0xDD: (">I", list), 0xDE: (">H", dict), 0xDF: (">I", dict),
}  # fmt: skip


def _value(data: bytes, at: int) -> tuple[Any, int]:
    first, at = data[at], at + 1
    if first < 0x80 or first >= 0xE0:
        return (first if first < 0x80 else first - 0x100), at
    if first < 0xC0:
        kind: type = dict if first < 0x90 else list if first < 0xA0 else str
        return _sized(kind, first & (0x1F if kind is str else 0x0F), data, at)
    if first in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[first], at
    if first in _NUMBERS:
        form = _NUMBERS[first]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    form, kind = _LENGTHS[first]
    return _sized(kind, struct.unpack_from(form, data, at)[0], data, at + struct.calcsize(form))


def _sized(kind: type, size: int, data: bytes, at: int) -> tuple[Any, int]:
    if kind in (bytes, str):
        piece = data[at : at + size]
        return (piece if kind is bytes else piece.decode()), at + size
    items = []
    for _ in range(size * (2 if kind is dict else 1)):
        item, at = _value(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2], strict=True)) if kind is dict else items), at
