"""The guards of an entry, read once and kept as long as its tree lives.

To read a tree takes longer than to ask it, and each lookup that is told needs its guards. They do
not change; only their order does, which is remembered apart. But a guard may hold an object of the
program's (the value of an `EQUALS_MATCH`, the globals of a function), which may lead back to the
entry and keep both alive. So only guards that hold nothing are kept. Those that stand at the root
and behind the tree are fetched anew each time, since a tree is asked for them in one call; a tree
that has others is read anew.
"""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

from stepper.engines.common.shape_conditions import IN_CPP, IN_PYTHON
from stepper.engines.dynamo.guard_tree import Check
from stepper.model.cache import GuardRow
from stepper.model.datum import Words, literal
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
_DICTS = frozenset({dict, OrderedDict, defaultdict})


Key = tuple[str, str, tuple[str, ...]]


def key_of(row: GuardRow) -> Key:
    """What tells a guard from the others of its entry, whatever its place."""
    return row.kind, row.source, row.code


class Kept(NamedTuple):
    """The guards of a tree without what may hold something of the program's."""

    checks: tuple[Check, ...]
    at_root: tuple[tuple[int, int], ...]
    """Guards that are to be fetched, and their places among the leaves of the root."""
    behind: tuple[tuple[int, int], ...]
    """Likewise among those behind the tree."""


def keep(root: Any, checks: list[Check]) -> Kept | None:
    """What can be kept of a tree that was just read; None: it is to be read anew."""
    if len({key_of(check.row) for check in checks}) < len(checks):
        return None  # their order could not be remembered
    own, last = root.get_leaf_guards(), root.get_epilogue_lambda_guards()
    kept: list[Check] = []
    at_root, behind = [], []
    for index, check in enumerate(checks):
        leaf = check.leaf
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
    return Kept(tuple(kept), tuple(at_root), tuple(behind))


def again(kept: Kept, root: Any) -> list[Check]:
    """The guards of a tree that was read before."""
    checks = list(kept.checks)
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
    if check.leaf is None:
        return check.expected_type is not None and check.expected_type[0] in _DICTS
    if row.kind in _HOLD_NOTHING:
        return True
    if row.kind == "EQUALS_MATCH":
        plain = not isinstance(literal(row.expected), Words)
        return plain or _OF_TORCH.fullmatch(row.expected) is not None
    return row.kind == "DICT_CONTAINS" and _TEXT_WITHIN.match(row.code[0]) is not None


keep_out()
