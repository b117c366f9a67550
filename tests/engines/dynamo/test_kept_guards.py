"""An entry's guards are read once where they hold nothing of the program's."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list

from stepper.engines.dynamo.guard_tree import GuardTree, wanted_tensor
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
        assert found is not None
        assert [check.row for check in found] == list(tree.rows)
        for check, read in zip(found, tree.checks, strict=True):
            own = not (check.condition or check.row.relational)
            assert check.leaf is (read.leaf if own else None)
    leaves = [check.leaf for check in kept.checks if check.leaf is not None]
    assert len(leaves) > 5


def test_guards_that_may_hold_an_object_of_the_program_are_not_kept() -> None:
    tree = _tree(_by_member, {1})
    assert keep(tree.root, tree.checks) is None


@pytest.mark.parametrize(
    ("keys", "number", "device"),
    [
        ("CPU, BackendSelect, ADInplaceOrView, AutogradCPU", "None", "cpu"),
        ("Meta, BackendSelect, ADInplaceOrView, AutogradMeta", "None", "meta"),
        ("CUDA, BackendSelect", "0", "cuda:0"),
        ("SparseCsrCUDA, ADInplaceOrView, AutogradCUDA", "1", "cuda:1"),
        ("PrivateUse1, AutogradPrivateUse1", "0", ""),
    ],
)
def test_a_guard_on_a_tensor_says_the_number_of_its_device_alone(
    keys: str, number: str, device: str
) -> None:
    wanted = wanted_tensor(
        f"check_tensor(L['x'], Tensor, DispatchKeySet({keys}), torch.float32, device={number}, "
        "requires_grad=False, size=[4], stride=[1])"
    )
    assert wanted is not None
    assert wanted.device == device


def test_so_torch_says_of_a_tensor_on_a_device_without_numbers() -> None:
    torch._dynamo.reset()
    torch.compile(_plain, backend="eager")(torch.ones(2, device="meta"), [2], _Holder())
    [entry] = _debug_get_cache_entry_list(_plain.__code__)
    rows = [check.row for check in GuardTree(entry.guard_manager).checks]
    assert [row.wants.device for row in rows if row.wants is not None] == ["meta"]


def test_a_class_of_the_program_that_is_wanted_is_not_held() -> None:
    class Own(dict[str, int]):
        pass

    tree = _tree(lambda x, own: x * own["a"], Own(a=2))
    kept = keep(tree.root, tree.checks)
    assert kept is not None
    assert any(check.wanted_dict == (Own, 1, None) for check in again(kept, tree.root) or ())
    assert all(check.wanted_dict is None for check in kept.checks if check.leaf is None)
    assert all(each.reference() is Own for each in kept.dicts)
    dead = weakref.ref(type("Dead", (), {}))
    gc.collect()
    gone = kept._replace(dicts=tuple(each._replace(reference=dead) for each in kept.dicts))
    assert again(gone, tree.root) is None
