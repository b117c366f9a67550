"""How records become bytes and bytes records, with what is not text made text."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from stepper.recording.database import Database, damaged

Record = TypeVar("Record")

_encoder = msgspec.msgpack.Encoder()

_ZLIB = b"\x78"
"""How compressed bytes begin, and no record does: in msgpack it is a number."""
_LEAST = 512
"""Bytes of a run that are worth compressing."""
_MOST = 64 * 1024 * 1024
"""Bytes of a run that are compressed: a file of unknown author can claim any size."""
_NO_RECORD = (msgspec.DecodeError, UnicodeError, RecursionError, ValueError)
"""What decoding says of bytes that are none."""
_FOLDED = (
    b"\xc3\x9f", b"\xc4\xb0", b"\xc5\x89", b"\xc5\xbf", b"\xc7\xb0", b"\xe1\xba", b"\xe2\x84\xaa",
    b"\xef\xac",
)  # fmt: skip
"""How the characters begin that are none of ASCII and become some in another case: ß, İ, ŉ, ſ, ǰ,
ẖ to ẞ, the sign of Kelvin, ﬀ to ﬆ."""
MOST_BYTES = "length(body) * CASE WHEN substr(body, 1, 1) = x'78' THEN 1032 ELSE 1 END"
"""How many bytes a stored run can have before it is compressed, at most: in SQL."""


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


def compressed(run: bytes) -> bytes:
    """A run as it is stored: compressed, unless it is short. Fast, which is more than half of what
    can be had: a run repeats itself."""
    return zlib.compress(run, 1) if _LEAST <= len(run) <= _MOST else run


def inflated(database: Database, stored: bytes) -> bytes:
    """A run as it was before it was compressed.

    Raises:
        RecordingError: the bytes are damaged, or stand for too many.
    """
    if not stored.startswith(_ZLIB):
        return stored
    inflating = zlib.decompressobj()
    try:
        run = inflating.decompress(stored, _MOST)
    except zlib.error as error:
        raise damaged(database.path, str(error)) from error
    if not inflating.eof:
        raise damaged(database.path, "a run is cut, or too long")
    return run


def may_hold(record: bytes, text: str) -> bool:
    """Whether a text can be in the strings of a record, in any case: if not, nobody need decode
    it."""
    if not text.isascii() or text.lower().encode() in record.lower():
        return True
    return any(each in record for each in _FOLDED)


def unpacked_run(
    database: Database, decoder: msgspec.msgpack.Decoder[Record], stored: bytes
) -> Record:
    """Decode a run.

    Raises:
        RecordingError: the bytes are not a record of the decoder's type.
    """
    return unpacked(database, decoder, inflated(database, stored))


def unpacked(database: Database, decoder: msgspec.msgpack.Decoder[Record], body: bytes) -> Record:
    """Decode a binary column.

    Raises:
        RecordingError: the bytes are not a record of the decoder's type.
    """
    try:
        return decoder.decode(body)
    except _NO_RECORD as error:
        raise damaged(database.path, str(error)) from error


def all_unpacked(
    database: Database, decoder: msgspec.msgpack.Decoder[Record], bodies: Iterable[bytes]
) -> list[Record]:
    """Decode a binary column of many rows.

    Raises:
        RecordingError: the bytes of one are not a record of the decoder's type.
    """
    try:
        return [*map(decoder.decode, bodies)]
    except _NO_RECORD as error:
        raise damaged(database.path, str(error)) from error


def _cleaned(data: Any) -> Any:
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, dict):
        return {_cleaned(key): _cleaned(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_cleaned(item) for item in data]
    return data
