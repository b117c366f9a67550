"""Trees of containers (`torch.utils._pytree`), and tables in which code looks classes up."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import pytest
import torch
from torch.utils import _pytree as pytree

from stepper import _C, native

graphs: list[torch.fx.GraphModule] = []


def keep_graph(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
    graphs.append(gm)
    return gm.forward


class Pair(NamedTuple):
    a: Any
    b: Any


def tree(x: torch.Tensor) -> Any:
    ordered = collections.OrderedDict(k=x + 3)
    return {"a": x, "b": [x + 1, (x + 2, None, 3)], "c": Pair(x, ordered)}


def mapped(x: torch.Tensor) -> Any:
    return pytree.tree_map(lambda leaf: leaf if leaf is None else leaf * 2, tree(x))


def of_several_results(x: torch.Tensor) -> Any:
    leaves, spec = pytree.tree_flatten((torch.ones(2, 2).max(dim=0), x))
    return pytree.tree_unflatten([leaf + 1 for leaf in leaves], spec)


def mapped_tensors(x: torch.Tensor) -> Any:
    return pytree.tree_map_only(torch.Tensor, torch.neg, [x, 3, (x + 1,)])


def flattened(x: torch.Tensor) -> Any:
    leaves, spec = pytree.tree_flatten(tree(x))
    return pytree.tree_unflatten([each if each is None else each + 1 for each in leaves], spec)


def leaves(x: torch.Tensor) -> Any:
    return pytree.tree_leaves(tree(x))


def annotated(x: torch.Tensor) -> Any:
    def inner(f: Callable[[Any], Any], n: Optional[int] = None) -> list[dict[str, int]]:  # noqa: UP045  # what `typing` makes
        return f(x)

    return inner(lambda each: each + 1)


@pytest.mark.parametrize(
    "function",
    [mapped, mapped_tensors, flattened, leaves, of_several_results, annotated],
    ids=lambda each: each.__name__,
)
def test_a_tree_is_one_graph(function: Callable[..., Any]) -> None:
    graphs.clear()
    call = native.optimize_assert(keep_graph)(function)
    for x in (torch.ones(2), torch.arange(2.0)):
        torch.testing.assert_close(call(x), function(x))
    assert len(graphs) == 1


class Kind:
    """A class that the table knows."""


class Other:
    """One that it does not."""


TABLE: dict[Any, float] = {type(f"Kind{n}", (), {}): float(n) for n in range(60)}
TABLE[Kind] = 2.0
TABLE[dict] = 5.0


def looked_up(x: torch.Tensor, kind: Any) -> torch.Tensor:
    if kind in TABLE:
        x = x * TABLE[kind]
    return x + TABLE.get(kind, 7.0) + TABLE.get(dict, 0.0)


def gone_through(x: torch.Tensor) -> torch.Tensor:
    for factor in TABLE.values():
        x = x + factor
    return x


def test_of_a_large_table_only_what_was_asked_for_is_guarded() -> None:
    graphs.clear()
    x = torch.ones(2)
    call = native.optimize_assert(keep_graph)(looked_up)
    try:
        for kind in (Kind, Other, dict, Kind, Other):
            assert torch.equal(call(x, kind), looked_up(x, kind))
        assert len(graphs) == 3
        TABLE[type("New", (), {})] = 1.0  # nobody asked for it
        call(x, Kind)
        assert len(graphs) == 3
        TABLE[Kind] = 3.0
        assert torch.equal(call(x, Kind), looked_up(x, Kind))
        TABLE[Other] = 4.0
        assert torch.equal(call(x, Other), looked_up(x, Other))
        del TABLE[Kind]
        assert torch.equal(call(x, Kind), looked_up(x, Kind))
    finally:
        TABLE[Kind] = 2.0
        TABLE.pop(Other, None)
    entries: Any = _C.code_cache(looked_up.__code__).entries
    guards = [str(part) for part, _ in entries[0].manager.parts]
    assert sum("TABLE" in guard for guard in guards) < 12, guards


def test_what_needs_all_of_a_large_table_runs_as_it_is() -> None:
    x = torch.ones(2)
    assert torch.equal(native.optimize(keep_graph)(gone_through)(x), gone_through(x))
