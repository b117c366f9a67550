"""Which local variables an instruction reads, sets and deletes.

CPython's names say it, of one variable or, from 3.13 on, of two at once: `STORE_FAST_LOAD_FAST`
sets one and then reads another. Whoever looks for the names of single ones overlooks those.
"""

from __future__ import annotations

import re
from typing import Literal, cast

Verb = Literal["LOAD", "STORE", "DELETE"]

_VERBS = re.compile(r"(LOAD|STORE|DELETE)_FAST")


def local_uses(opname: str, named: str | tuple[str, ...]) -> tuple[tuple[Verb, str], ...]:
    """What an instruction does to local variables, in its order; empty: nothing.

    Args:
        opname: its name.
        named: the variables that it names, as `dis` has them in `argval`.
    """
    if "_FAST" not in opname:
        return ()
    names = (named,) if isinstance(named, str) else named
    return tuple(zip(cast(list[Verb], _VERBS.findall(opname)), names, strict=False))
