"""All the cases: `WORLD` by name, `PAIRS` of a kind of class and a feature, and `PARTS` of a
function and a way to call it."""

from __future__ import annotations

from tests.engines.native.replaced import (
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

TABLES = (functions, variables, of_torch, hooks, modes, registries, contents, objects, keys)
"""The modules that add cases."""
WORLD: dict[str, Case] = dict(CASES)
PAIRS: dict[str, Case] = pairs.cases()
PARTS: dict[str, Case] = parts.cases()
