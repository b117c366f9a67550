"""The repr of a result, cut to a length before it is made and not after.

The repr of a list of a hundred million numbers is a gigabyte, and takes a minute in which no signal
is heard: it is one call of C. So builtin values are told piece by piece until there is enough.
Objects of any other class make their own repr, as the user wants it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from stepper._C import shortened_at

_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}
_EMPTY: dict[type, str] = {set: "set()", frozenset: "frozenset()"}
_TEXTS = (str, bytes, bytearray)
_SOON_MADE = 1_000_000
"""Characters of a text whose whole repr takes milliseconds."""


def rendered(value: object, length: int) -> str:
    """The repr of a value in at most `length` characters; what is cut is counted."""
    kind = type(value)
    if kind in _TEXTS and len(value) > _SOON_MADE:  # type: ignore[arg-type]  # its exact type was asked for
        text = repr(value[:length])  # type: ignore[index]  # its exact type was asked for
        return _cut(text, length, f"{len(value):,} characters")  # type: ignore[arg-type]  # its exact type was asked for
    parts: list[str] = []
    told = 0
    for part in _parts(value, length, []):
        parts.append(part)
        told += len(part)
        if told > length and kind in _BRACKETS:
            return _cut("".join(parts), length, f"{len(value):,} items")  # type: ignore[arg-type]  # its exact type was asked for
    text = "".join(parts)
    return text if len(text) <= length else _cut(text, length, f"{len(text):,} characters")


def _cut(text: str, length: int, what: str) -> str:
    note = f"… ({what})"
    return text[: shortened_at(text, length - len(note))] + note


def _parts(value: Any, length: int, inside: list[object]) -> Iterator[str]:
    kind = type(value)
    brackets = _BRACKETS.get(kind)
    if brackets is None:
        yield _of_one(value, kind, length)
    elif not value and kind in _EMPTY:
        yield _EMPTY[kind]
    elif any(value is each for each in inside):
        yield f"{brackets[0]}...{brackets[1]}"
    else:
        yield brackets[0]
        inside.append(value)
        # A copy: a repr of the user's may change it. Each item has at least one character.
        for at, item in enumerate([*islice(value.items() if kind is dict else value, length)]):
            if at:
                yield ", "
            if kind is dict:
                yield from _parts(item[0], length, inside)
                yield ": "
                item = item[1]
            yield from _parts(item, length, inside)
        inside.pop()
        yield "," + brackets[1] if kind is tuple and len(value) == 1 else brackets[1]


def _of_one(value: Any, kind: type, length: int) -> str:
    # A subclass of str, which a class of the user's may give, could do anything in slicing.
    if kind in _TEXTS and len(value) > _SOON_MADE:
        return repr(value[:length]) + "…"
    return str.__str__(repr(value))
