"""Experiments with the guards of Dynamo's entries; see `stepper.engines.common.witnesses`."""

from __future__ import annotations

from typing import Any

from stepper.engines.common import witnesses
from stepper.engines.dynamo.cache import BOOK, KnownEntry, locked
from stepper.engines.dynamo.cache_check import runnable, runners
from stepper.engines.dynamo.guard_tree import GuardTree
from stepper.model.cache import CacheError, GuardRow, Verdict, WitnessSearch


def find_witness(entry: KnownEntry, number: int, f_locals: dict[str, Any]) -> WitnessSearch:
    """Try inputs that a guard of an entry refuses.

    Args:
        entry: the entry.
        number: the guard's row.
        f_locals: the call to begin from.

    Raises:
        CacheError: there is no such guard, or the process cannot be copied.
    """
    with locked():
        if entry.draft is not None:
            raise CacheError(f"{entry.label} was made by hand: ask the entry that it is a copy of")
        tree = BOOK.tree(entry)
        tried = witnesses.Tried(
            entry.id,
            entry.label,
            tree.rows,
            runnable(entry)[2],
            lambda local: _refused(tree, local),
            runners(entry).compared,
        )
        return witnesses.find_witness(tried, number, f_locals)


def _refused(tree: GuardTree, f_locals: dict[str, Any]) -> list[GuardRow]:
    """The guards that do not pass."""
    _, checks = tree.run(f_locals)
    return [tree.checks[each.guard].row for each in checks if each.verdict is not Verdict.PASS]
