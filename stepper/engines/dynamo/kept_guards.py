"""The guards of an entry, read once and kept as long as its tree lives.

To read a tree takes longer than to ask it, and each lookup that is told needs its guards. They do
not change; only their order does, which is remembered apart. But a guard may hold an object of the
program's (the value of an `EQUALS_MATCH`, the globals of a function), which may lead back to the
entry and keep both alive. So only guards that hold nothing are kept, and classes weakly. Those that
stand at the root and behind the tree are fetched anew each time, since a tree is asked for them in
one call; a tree that has others is read anew.
"""

from __future__ import annotations

import re
import weakref
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from stepper.engines.common.shape_conditions import IN_CPP, IN_PYTHON
from stepper.engines.dynamo.guard_tree import Check, WantedDict
from stepper.model.cache import GuardRow
from stepper.model.datum import Words, literal
from stepper.support.words import Classes
from stepper.uncompiled import keep_out

_HOLD_NOTHING = frozenset(
    {
        "TYPE_MATCH", "ID_MATCH", "NONE_MATCH", "NOT_NONE", "TRUE_MATCH", "FALSE_MATCH",
        "DICT_VERSION", "DICT_LENGTH", "LENGTH_CHECK", "FLOAT_IS_NAN", "COMPLEX_IS_NAN",
        "TUPLE_ITERATOR_LEN", "RANGE_ITERATOR_MATCH", "FAKE_SCRIPT_TYPE_MATCH", "TENSOR_MATCH",
        "DISPATCH_KEY_SET_MATCH", "NO_HASATTR", "DYNAMIC_INDICES",
        "DIMENSION_DYNAMIC_MARKING_GUARD",
    }
)  # fmt: skip
"""Kinds of leaves that know numbers, addresses and texts alone."""
_TEXT_WITHIN = re.compile(r"(?:not )?___dict_contains\(['\"]")
_OF_TORCH = re.compile(r"torch\.\w+|device\(type='\w+'(?:, index=\d+)?\)")
_DICTS = Classes(dict, OrderedDict, defaultdict)


Key = tuple[str, str, tuple[str, ...]]


def key_of(row: GuardRow) -> Key:
    """What a guard is about and how it checks it."""
    return row.kind, row.source, row.code


def keys_of(checks: Sequence[Check]) -> list[tuple[Key, int]]:
    """What tells each guard from the others of its entry, whatever its place. Of those that say the
    same, as Dynamo makes for the floats of modules, it matters to nobody which one is first."""
    met: Counter[Key] = Counter()
    found = []
    for check in checks:
        key = key_of(check.row)
        found.append((key, met[key]))
        met[key] += 1
    return found


class _DictClass(NamedTuple):
    """A class of the program's own dictionaries that a guard wants: it can lead to the entry."""

    place: int
    """Which guard it is, among all."""
    reference: weakref.ref[type]
    wanted: WantedDict
    """Without the class."""


class Kept(NamedTuple):
    """The guards of a tree without what may hold something of the program's."""

    checks: tuple[Check, ...]
    dicts: tuple[_DictClass, ...]
    at_root: tuple[tuple[int, int], ...]
    """Guards that are to be fetched, and their places among the leaves of the root."""
    behind: tuple[tuple[int, int], ...]
    """Likewise among those behind the tree."""


def keep(root: Any, checks: list[Check]) -> Kept | None:
    """What can be kept of a tree that was just read; None: it is to be read anew."""
    own, last = root.get_leaf_guards(), root.get_epilogue_lambda_guards()
    kept: list[Check] = []
    at_root, behind, dicts = [], [], []
    for index, check in enumerate(checks):
        leaf = check.leaf
        if leaf is None and check.wanted_dict is not None:
            kind = check.wanted_dict.kind
            if kind not in _DICTS:
                wanted = check.wanted_dict._replace(kind=dict)
                dicts.append(_DictClass(index, weakref.ref(kind), wanted))
                check = check._replace(wanted_dict=None)
            kept.append(check)
            continue
        if (place := _place(leaf, own)) is not None:
            at_root.append((index, place))
            leaf = None
        elif (place := _place(leaf, last)) is not None:
            behind.append((index, place))
            leaf = None
        elif check.condition or check.row.relational or check.row.kind in (IN_PYTHON, IN_CPP):
            leaf = None  # its words are asked
        elif not _holds_nothing(check):
            return None
        kept.append(check if leaf is check.leaf else check._replace(leaf=leaf))
    return Kept(tuple(kept), tuple(dicts), tuple(at_root), tuple(behind))


def again(kept: Kept, root: Any) -> list[Check] | None:
    """The guards of a tree that was read before; None: what they want is gone."""
    checks = list(kept.checks)
    for index, reference, wanted in kept.dicts:
        if (kind := reference()) is None:
            return None
        checks[index] = checks[index]._replace(wanted_dict=wanted._replace(kind=kind))
    for places, leaves in (
        (kept.at_root, root.get_leaf_guards),
        (kept.behind, root.get_epilogue_lambda_guards),
    ):
        if places:
            found = leaves()
            for index, place in places:
                checks[index] = checks[index]._replace(leaf=found[place])
    return checks


def _place(leaf: Any, leaves: list[Any]) -> int | None:
    return next((at for at, each in enumerate(leaves) if each is leaf), None)


def _holds_nothing(check: Check) -> bool:
    row = check.row
    if row.kind in _HOLD_NOTHING:
        return True
    if row.kind == "EQUALS_MATCH":
        plain = not isinstance(literal(row.expected), Words)
        return plain or _OF_TORCH.fullmatch(row.expected) is not None
    return row.kind == "DICT_CONTAINS" and _TEXT_WITHIN.match(row.code[0]) is not None


keep_out()
