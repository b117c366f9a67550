"""All the cases: `WORLD` by name, `PAIRS` of a kind of class and a feature, and `PARTS` of a
function and a way to call it."""

from __future__ import annotations

from tests.engines.native.replaced import (  # noqa: F401  # most add their cases when they are imported
    contents,
    functions,
    hooks,
    keys,
    modes,
    objects,
    of_torch,
    pairs,
    parts,
    registries,
    variables,
)
from tests.engines.native.replaced.running import CASES, Case

WORLD: dict[str, Case] = dict(CASES)
PAIRS: dict[str, Case] = pairs.cases()
PARTS: dict[str, Case] = parts.cases()
