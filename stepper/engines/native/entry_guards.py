"""The guards of one entry, in words, and what each says to the variables of a call.

A check that stands behind one that failed may call the program's own code: attributes are looked at
after the type that has them. So the guards of a value of which one has failed are not asked any
more; the others are, beyond the first that fails, where a lookup would end.
"""

from __future__ import annotations

import re
from typing import Any

from stepper.engines.common.words import class_name, object_text
from stepper.engines.native.convert_frame import GuardedCode
from stepper.engines.native.guards import ADDED, GuardPart
from stepper.model.cache import GuardCheck, GuardRow, Verdict

_STEP = re.compile(r"\[[^\]]*\]|\.\w+")
_RELATIONAL = frozenset({"NO_ALIASING", "DUPLICATE_INPUT"})


def guard_rows(entry: GuardedCode) -> tuple[GuardRow, ...]:
    """The guards, in the order in which a verbose lookup asks them."""
    return tuple(_row(index, part) for index, (part, _) in enumerate(entry.manager.parts))


def _row(index: int, part: GuardPart) -> GuardRow:
    relational = part.kind in _RELATIONAL
    return GuardRow(
        index,
        part.kind,
        part.name,
        code=part.code,
        expected=part.expected,
        depth=0 if relational else len(_STEP.findall(part.name)),
        relational=relational,
        made=part.kind == ADDED,
    )


def ask(
    entry: GuardedCode, f_locals: dict[str, Any], f_globals: dict[str, Any]
) -> tuple[GuardCheck, ...]:
    """What each guard says."""
    failed: list[str] = []
    found = []
    for index, (part, check) in enumerate(entry.manager.parts):
        words = " ".join((part.name, *part.code))
        if any(name in words for name in failed):
            found.append(GuardCheck(index, Verdict.UNREACHED))
            continue
        try:
            passed = bool(check(f_locals, f_globals))
        except Exception as error:  # a miss, to a lookup
            found.append(GuardCheck(index, Verdict.UNREACHED, "", type(error).__name__))
            passed = False
        else:
            verdict = Verdict.PASS if passed else Verdict.FAIL
            actual = "" if passed else _actual(entry, part, f_locals, f_globals)
            differs = f"{actual} ≠ {part.expected}" if actual and part.expected else ""
            found.append(GuardCheck(index, verdict, actual, differs))
        if not passed and part.name and part.kind not in _RELATIONAL:
            failed.append(part.name)
    return tuple(found)


def _actual(
    entry: GuardedCode, part: GuardPart, f_locals: dict[str, Any], f_globals: dict[str, Any]
) -> str:
    """The value that a guard has looked at, in words: reached as the guard reaches it."""
    if not part.reachable:
        return ""
    value = entry.manager.reach(part.name, f_locals, f_globals)
    match part.kind:
        case "TYPE_MATCH":
            return class_name(type(value))
        case "LIST_LENGTH":
            return f"length {len(value)}"
        case _:
            return object_text(value)
