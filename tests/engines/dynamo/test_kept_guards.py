"""An entry's guards are read once where they hold nothing of the program's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list

from stepper.engines.dynamo.guard_tree import GuardTree
from stepper.engines.dynamo.kept_guards import again, keep


class _Holder:
    def __init__(self) -> None:
        self.many = {"a": 2, "b": 3}


def _plain(x: torch.Tensor, some: list[Any], holder: _Holder) -> torch.Tensor:
    return x * some[0] + len(some) + holder.many["a"] if "b" in holder.many else x


def _by_member(x: torch.Tensor, members: set[int]) -> torch.Tensor:
    return x * 2 if 1 in members else x


def _tree(function: Callable[..., torch.Tensor], *arguments: object) -> GuardTree:
    torch._dynamo.reset()
    torch.compile(function, backend="eager")(torch.ones(2), *arguments)
    [entry] = _debug_get_cache_entry_list(function.__code__)
    return GuardTree(entry.guard_manager)


@pytest.mark.parametrize("count", [1, 2])
def test_guards_that_are_kept_are_those_of_the_tree(count: int) -> None:
    tree = _tree(_plain, [2, "two"], _Holder())
    kept = keep(tree.root, tree.checks)
    assert kept is not None
    for _ in range(count):
        found = again(kept, tree.root)
        assert [check.row for check in found] == list(tree.rows)
        for check, read in zip(found, tree.checks, strict=True):
            own = not (check.condition or check.row.relational)
            assert check.leaf is (read.leaf if own else None)
    leaves = [check.leaf for check in kept.checks if check.leaf is not None]
    assert len(leaves) > 5


def test_guards_that_may_hold_an_object_of_the_program_are_not_kept() -> None:
    tree = _tree(_by_member, {1})
    assert keep(tree.root, tree.checks) is None
