"""Records with a text in every place that can hold one, made from the records' own definitions, so
that a place that is added is not forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import inspect

Plant = Callable[[str], str]
"""The text for a place, by its name: `Value.text`."""


def planted(kind: Any, plant: Plant) -> Any:
    """A record (or whatever has the type) with a text of `plant` in every place."""
    return msgspec.convert(_made(inspect.type_info(kind), plant, ""), kind)


def _made(kind: inspect.Type, plant: Plant, place: str) -> Any:
    match kind:
        case inspect.StrType(pattern=pattern):
            return plant(place) if pattern is None else ""  # it would be refused at opening
        case inspect.EnumType(cls=cls):
            return next(iter(cls)).value
        case inspect.IntType():
            return 1
        case inspect.FloatType():
            return 1.0
        case inspect.BoolType():
            return False
        case inspect.BytesType():
            return b""
        case inspect.UnionType(types=types):
            some = next(each for each in types if not isinstance(each, inspect.NoneType))
            return _made(some, plant, place)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return [_made(item, plant, place)]
        case inspect.TupleType(item_types=items):
            return [_made(item, plant, place) for item in items]
        case inspect.DictType(key_type=key, value_type=value):
            return {_made(key, plant, f"{place} key"): _made(value, plant, place)}
        case inspect.StructType(cls=cls, fields=fields, array_like=array_like):
            made = {
                field.encode_name: _made(field.type, plant, f"{cls.__name__}.{field.name}")
                for field in fields
            }
            return list(made.values()) if array_like else made
        case _:
            return None
