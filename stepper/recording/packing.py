"""How records become bytes and bytes records, with what is not text made text."""

from __future__ import annotations

from typing import Any

import msgspec

_encoder = msgspec.msgpack.Encoder()


def pack(record: object) -> bytes:
    """Encode a record. Lone surrogates in its strings are written as `\\udc80`."""
    try:
        return _encoder.encode(record)
    except UnicodeEncodeError:
        return _encoder.encode(_cleaned(msgspec.to_builtins(record)))


def clean(text: str) -> str:
    """The text as UTF-8 can hold it: a lone surrogate becomes six characters like `\\udc80`."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _cleaned(data: Any) -> Any:
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, dict):
        return {_cleaned(key): _cleaned(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_cleaned(item) for item in data]
    return data
