"""How records become bytes and bytes records, with what is not text made text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from stepper.recording.database import Database, damaged

Record = TypeVar("Record")

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


def unpacked(database: Database, decoder: msgspec.msgpack.Decoder[Record], body: bytes) -> Record:
    """Decode a binary column.

    Raises:
        RecordingError: the bytes are not a record of the decoder's type.
    """
    return all_unpacked(database, decoder, (body,))[0]


def all_unpacked(
    database: Database, decoder: msgspec.msgpack.Decoder[Record], bodies: Iterable[bytes]
) -> list[Record]:
    """Decode a binary column of many rows.

    Raises:
        RecordingError: the bytes of one are not a record of the decoder's type.
    """
    try:
        return [*map(decoder.decode, bodies)]
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError) as error:
        raise damaged(database.path, str(error)) from error


def _cleaned(data: Any) -> Any:
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, dict):
        return {_cleaned(key): _cleaned(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_cleaned(item) for item in data]
    return data
