"""Finds the checks of a lookup that a guard may have made, without comparing each with each.

An entry of a large model has thousands of guards, and a lookup runs as many checks. A check belongs
to a guard when it looks at the guard's source, or when one of its conditions is one of the guard's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepper.analysis.conditions import LEAVES, SHAPE_ENV, comparisons
from stepper.analysis.guard_kinds import leaves_of
from stepper.analysis.walks import LookedUp
from stepper.model.lookup import CheckedGuard
from stepper.model.trace import Guard

_TOLD_KEY = re.compile(r"list\((?P<of>.+)\)\[\d+\]")
_VALUES = ".values()"
_A_KEY = re.compile(r"list\(dict\.keys\((?P<of>.*)\)\)\[\d+\]")
"""How a check comes to a key by its place."""
_ITEM = "dict.__getitem__("
_DICT = "DICT_MANAGER"
_A_TENSOR = "check_tensor("


def whose_key(source: str) -> str:
    """The dictionary whose key, by its place, a check looks at; empty: it looks at none."""
    found = _A_KEY.fullmatch(source)
    return found["of"] if found is not None else ""


def whose_key_is_told(told: str) -> str:
    """The dictionary of a key by its place, as its user writes it; empty: it is no such key."""
    found = _TOLD_KEY.fullmatch(told)
    return found["of"] if found is not None and not found["of"].endswith(_VALUES) else ""


def whose_tensor(check: CheckedGuard) -> str:
    """The value that a check looks at, of a tensor as the guard has it: a dictionary's value that
    the guard comes to by the place of its key, the check may come to by the key."""
    told = check.code[0] if check.code else ""
    if not told.startswith(_A_TENSOR):
        return check.source
    return told.removeprefix(_A_TENSOR).partition(", DispatchKeySet(")[0].rpartition(", ")[0]


class _Keys:
    """The keys of dictionaries, by the expressions for them by their places."""

    def __init__(self, checks: Sequence[LookedUp]) -> None:
        found: dict[str, str] = {}
        for each in checks:
            of, compared = whose_key(each.guard.source), each.guard.code[:1]
            key = compared[0].removeprefix(f"{each.guard.source} == ") if of and compared else ""
            if key and key != compared[0]:
                found[f"{_ITEM}{of}, {each.guard.source})"] = f"{of}[{key}]"
        # A dictionary within another one stands within its own values' expressions.
        self._items = sorted(found.items(), key=lambda item: -len(item[0]))

    def by_key(self, source: str) -> str:
        """A source with the values of dictionaries by their keys."""
        for by_place, by_key in self._items if _ITEM in source else ():
            source = source.replace(by_place, by_key)
        return source


class CheckIndex:
    """The checks of an entry in one lookup."""

    def __init__(self, checks: Sequence[LookedUp]) -> None:
        self._checks = checks
        self._keys = _Keys(checks)
        self._by_source: dict[str, list[int]] = {}
        self._by_code: dict[str, list[int]] = {}
        self._by_comparisons: dict[tuple[str, ...], list[int]] = {}
        for number, each in enumerate(checks):
            sources = {each.guard.source, whose_tensor(each.guard)}
            if each.guard.kind == _DICT:
                sources.add(self._keys.by_key(each.guard.source))
            for source in sources:
                self._by_source.setdefault(source, []).append(number)
            if dictionary := whose_key(each.guard.source):
                self._by_source.setdefault(dictionary, []).append(number)
            for part in each.guard.code if each.guard.kind in LEAVES else ():
                self._by_comparisons.setdefault(comparisons(part), []).append(number)
            for part in each.guard.code:
                self._by_code.setdefault(part, []).append(number)
        self.nanoseconds = sum(each.check.nanoseconds or 0 for each in checks)
        """What they took together."""

    def is_of_dict(self, check: CheckedGuard, guard: Guard) -> bool:
        """Whether a check is that of a dictionary which a guard is on, too, and makes: the one can
        come to it by its key, and the other by the place of that."""
        if check.kind != _DICT or _DICT not in leaves_of(guard.kind):
            return False
        return self._keys.by_key(check.source) == self._keys.by_key(guard.source)

    def candidates(self, guard: Guard) -> list[LookedUp]:
        """The checks that look at a guard's source or share a condition with it, in order."""
        if guard.kind == SHAPE_ENV:
            same = map(comparisons, guard.code)
            on_sizes = {at for each in same for at in self._by_comparisons.get(each, ())}
            return [self._checks[number] for number in sorted(on_sizes)]
        found = {
            number
            for source in (
                guard.source,
                f"{guard.source}.__code__",
                self._keys.by_key(guard.source),
            )
            for number in self._by_source.get(source, ())
        }
        found.update(number for part in guard.code for number in self._by_code.get(part, ()))
        return [self._checks[number] for number in sorted(found)]
