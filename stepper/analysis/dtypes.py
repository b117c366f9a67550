"""To which dtype a tensor can be converted that comes in several."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepper.model.datum import Datum, text_of

_DTYPE = re.compile(r"(?P<kind>b?float|u?int|complex|bool)(?P<bits>\d*)(?:_\w+)?")
_NARROW = "8"
"""The bits of a float that is there to be stored, and mostly not to be computed with."""


def shared_dtype(values: Sequence[Datum]) -> str:
    """The first of some dtypes to which the others can be converted and mean the same; empty: there
    is none. A bool is a mask, a number is not; what is cut off an int or kept in eight bits is
    lost."""
    names = [text_of(value) for value in values]
    found = [(name, _DTYPE.fullmatch(name)) for name in names]
    known = [(name, match["kind"], match["bits"]) for name, match in found if match]
    kinds = {kind for _, kind, _ in known}
    if not known or len(known) < len(names) or ("bool" in kinds and len(kinds) > 1):
        return ""
    wide = [name for name, kind, bits in known if "float" in kind and bits != _NARROW]
    if any(kind == "complex" for _, kind, _ in known):
        return names[0] if known[0][1] == "complex" else ""
    if not wide and any("float" in kind for kind in kinds):
        return ""
    return (wide or names)[0]
