"""Whether a program keeps a value itself or hands it over, and what is said of one that the
compiled function changes."""

from __future__ import annotations

from stepper.analysis.advice import Changing
from stepper.analysis.sources import path_of

_CLOSURE = "__closure__"


def have(it: Changing) -> str:
    """What a program does with a value: nobody hands over a part of `self`, or of a global, or what
    a function has from the one around it."""
    path = path_of(it.name)
    own = path is not None and path.root == "self" and path.steps
    there = it.series.source.startswith("G[") or _CLOSURE in it.series.source or _from_around(it)
    return "keep" if own or there else "hand over"


def _from_around(it: Changing) -> bool:
    """Whether the function has it, or what it is a part of, from the function around it."""
    path = path_of(it.name)
    rows = it.recording.code(it.history.code).instructions
    ways = {row.opname for row in rows if path is not None and row.argrepr == path.root}
    return "LOAD_DEREF" in ways and "MAKE_CELL" not in ways


def changed_by_itself(it: Changing) -> str:
    """What is said of a container that the compiled function changes; empty: it does not."""
    effect = it.changed_inside
    if effect is None:
        return ""
    more = (
        " More is put in from call to call than that, which takes entries as well: hand over what "
        "is read of it instead."
    )
    itself = (
        f"{it.spell(effect.name)} is changed by the compiled function itself"
        f"{it.place_inside(effect)}"
    )
    if _may_be_another(it):
        return (
            f"{itself}, and the next call finds it so where it is handed the same one: do that "
            "outside of the compiled function, with what it returns, or have all of it there "
            "before the first call. Where each call has one of its own, hand it over always with "
            "as much in it."
        )
    return (
        f"{itself}, and the next call finds it so: do that outside of the "
        "compiled function, with what it returns, or have all of it there before the first call."
        + more
        * it.grows_by_more
    )


def _may_be_another(it: Changing) -> bool:
    """Whether the function is handed it over: which calls have the same one, is not recorded."""
    path = path_of(it.series.source)
    return path is not None and not path.steps and have(it) == "hand over"
