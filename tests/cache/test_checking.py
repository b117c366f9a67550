"""Arguments against the cache: the verdicts are Dynamo's, and asking changes nothing."""

from __future__ import annotations

import contextlib
import functools
import gc
import weakref
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import stepper.cache as cache
from stepper.model.cache import CacheError, EntryState, Verdict


def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    return x * factor


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.scales = {"a": 1.0, "b": 2.0}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for scale in self.scales.values():
            x = x * scale
        return self.linear(x)


def compiled(function: Any, *calls: tuple[Any, ...]) -> Any:
    made = torch.compile(function, backend="eager", dynamic=False)
    for call in calls:
        made(*call)
    return made


def matches(function: Any, *args: Any) -> list[bool]:
    return [entry.matches for entry in cache.check(function, *args).entries]


def test_says_who_matches_and_who_wins() -> None:
    compiled(scaled, (torch.ones(3),), (torch.ones(4),))
    first, second = cache.list(scaled)
    found = cache.check(scaled, torch.ones(3))
    assert matches(scaled, torch.ones(3)) == [False, True]
    assert found.winner == second.id
    assert [entry.wins for entry in found.entries] == [False, True]
    assert cache.check(scaled, torch.ones(5)).winner is None
    assert first.facts.position == 0


def test_names_what_differs() -> None:
    compiled(scaled, (torch.ones(3),))
    found = cache.check(scaled, torch.ones(4).double())
    (failed,) = [check for check in found.entries[0].checks if check.verdict is Verdict.FAIL]
    assert "dtype float32 ≠ float64" in failed.difference
    assert "size [3] ≠ [4]" in failed.difference
    row = found.guards[found.entries[0].entry][failed.guard]
    assert (row.kind, row.source) == ("TENSOR_MATCH", "L['x']")
    assert row.user_line is not None
    assert row.user_line.text == "return x * factor"


def test_tells_all_that_fails_and_not_only_the_first() -> None:
    compiled(scaled, (torch.ones(3), 2.0))
    found = cache.check(scaled, torch.ones(4), 3.0)
    failed = {
        found.guards[found.entries[0].entry][check.guard].kind
        for check in found.entries[0].checks
        if check.verdict is Verdict.FAIL
    }
    assert {"TENSOR_MATCH", "EQUALS_MATCH"} <= failed


@pytest.mark.parametrize("change", ["", "key", "order", "type", "weight", "grad mode"])
def test_agrees_with_a_lookup(change: str) -> None:
    net = Net()
    made = compiled(net, (torch.ones(2, 3),))
    match change:
        case "key":
            net.scales["c"] = 3.0
        case "order":
            net.scales = {"b": 2.0, "a": 1.0}
        case "type":
            net.scales["b"] = 2
        case "weight":
            net.linear.weight = nn.Parameter(torch.ones(3, 3, dtype=torch.float64))
    with torch.set_grad_enabled(change != "grad mode"):
        (entry,) = cache.check(net, torch.ones(2, 3)).entries
        with contextlib.suppress(RuntimeError):  # the changed weight fits no longer
            made(torch.ones(2, 3))
        hit = len(cache.check(net, torch.ones(2, 3)).entries) == 1
    assert entry.matches is hit
    assert hit is (change == "")
    assert all(check.verdict is Verdict.PASS for check in entry.checks) is hit


def test_relational_guards_are_told_one_by_one() -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    compiled(both, (torch.ones(3), torch.ones(3)))
    same = torch.ones(3)
    found = cache.check(both, same, same)
    differences = [check.difference for check in found.entries[0].checks if check.difference]
    assert differences == ["L['y'] is the same tensor as L['x']"]
    found = cache.check(both, None, None)
    differences = [check.difference for check in found.entries[0].checks if check.difference]
    assert "L['y'] and L['x'] are both None" in differences
    assert cache.check(both, torch.ones(3), torch.ones(3)).winner is not None


def test_dynamic_shapes() -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    torch.compile(both, backend="eager", dynamic=True)(torch.ones(4), torch.ones(4))
    assert cache.check(both, torch.ones(7), torch.ones(7)).winner is not None
    (entry,) = cache.check(both, torch.ones(7), torch.ones(8)).entries
    assert not entry.matches
    assert "size()[0]" in entry.reason


def test_asking_changes_nothing() -> None:
    made = compiled(scaled, (torch.ones(3),), (torch.ones(4),))
    code = scaled.__code__

    def state() -> list[Any]:
        found = []
        for entry in _debug_get_cache_entry_list(code):
            root = entry.guard_manager.root
            children = root.get_child_managers()
            found.append(
                (
                    str(entry.compile_id),
                    root.fail_count(),
                    [(each.get_source(), each.fail_count()) for each in children],
                )
            )
        return found

    before = state()
    for _ in range(3):
        cache.check(scaled, torch.ones(3))
        cache.check(scaled, torch.ones(9, 9))
        cache.list(scaled)
    assert state() == before
    with torch.compiler.set_stance("fail_on_recompile"):
        made(torch.ones(3))


def test_no_object_is_kept() -> None:
    class Holder:
        factor = 2.0

    def held(x: torch.Tensor, holder: Any) -> torch.Tensor:
        return x * holder.factor

    compiled(held, (torch.ones(3), Holder))
    tensor = torch.ones(3)
    (entry,) = cache.list(held)
    copy = cache.clone(entry, drop="TENSOR_MATCH *")
    cache.check(held, tensor, Holder)
    cache.compare(copy, tensor, Holder)
    dies: list[weakref.ref[Any]] = [weakref.ref(tensor), weakref.ref(Holder)]
    del tensor, Holder
    gc.collect()
    assert [each() for each in dies] == [None, None]
    assert {each.facts.state for each in (entry, copy)} == {EntryState.INVALID}


def test_runs_and_compares_on_copies() -> None:
    def adds(x: torch.Tensor, seen: list[int]) -> torch.Tensor:
        seen.append(1)
        return x.add_(1) + torch.rand(())

    compiled(adds, (torch.ones(3), [4]))
    (entry,) = cache.list(adds)
    x, seen = torch.ones(3), [5]
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    found = cache.compare(entry, x, seen)
    assert found.same, found
    assert torch.equal(x, torch.ones(3))
    assert seen == [5]
    assert torch.equal(torch.rand(3), expected)


class Cache:
    """What a model writes into while it generates."""

    def __init__(self, keys: torch.Tensor) -> None:
        self.keys = keys
        self.seen = 0

    def update(self, x: torch.Tensor) -> torch.Tensor:
        self.keys = torch.cat([self.keys, x])
        self.seen += 1
        return self.keys.sum() + self.seen


class Stubborn(Cache):
    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        raise RuntimeError("there is only one of me")


def test_objects_of_the_program_are_copied_or_it_is_said() -> None:
    def attends(x: torch.Tensor, cache: Cache, keys: torch.Tensor) -> torch.Tensor:
        return cache.update(x) * (2 if keys is cache.keys else 1)

    torch._dynamo.reset()
    made = torch.compile(attends, backend="eager")
    for kind, shared in ((Cache, ()), (Stubborn, ("cache",))):
        keys = torch.ones(3)
        made(torch.ones(1), kind(keys), keys)
        entry = cache.list(attends)[0]
        theirs = kind(keys)
        found = cache.compare(entry, torch.ones(1), theirs, keys)
        assert found.shared == shared
        assert (theirs.seen, len(theirs.keys)) == ((2, 5) if shared else (0, 3))
        # One tensor in two places is one tensor in the copies.
        assert found.same is not bool(shared), found


def test_arguments_are_bound_as_python_does() -> None:
    def many(a: Any, /, b: Any, *rest: Any, k: int = 1, **more: Any) -> Any:
        return a + b + rest[0] + k + more["z"]

    compiled_many = torch.compile(many, backend="eager")
    one = torch.ones(1)
    compiled_many(one, 2, 3, z=4)
    assert cache.check(many, one, 2, 3, z=4).winner is not None
    assert dict(cache.check(many, one, b=2, z=4).arguments)["rest"] == "()"
    assert torch.equal(cache.run(cache.list(many)[0], one, 2, 3, z=4), one + 10)
    for args, kwargs in (((), {}), ((one,), {}), ((one, 1), {"b": 2})):
        with pytest.raises(CacheError, match="many"):
            cache.check(many, *args, **kwargs)
    with pytest.raises(CacheError, match="takes 2"):
        cache.check(scaled, one, 1, 2)


def test_closures_are_seen() -> None:
    def make(factor: float) -> Any:
        def inner(x: torch.Tensor) -> torch.Tensor:
            return x * factor

        return inner

    two, three = make(2.0), make(3.0)
    compiled(two, (torch.ones(3),))
    assert cache.check(two, torch.ones(3)).winner is not None
    assert cache.check(three, torch.ones(3)).winner is None
    with pytest.raises(CacheError, match="f_locals"):
        cache.run(cache.list(two)[0], torch.ones(3))


def hooked() -> nn.Module:
    module = Net()
    module.register_forward_hook(lambda module, arguments, output: output + 1)
    return module


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature:UserWarning")
@pytest.mark.parametrize(
    "make",
    [
        Net,
        hooked,
        lambda: nn.Linear(3, 3),
        lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU()),
        lambda: nn.LazyLinear(3),
        lambda: scaled,
        lambda: functools.partial(scaled, factor=3.0),
        lambda: Net().forward,
    ],
    ids=["own", "hooked", "torch's", "container", "lazy", "function", "partial", "method"],
)
def test_what_compile_returned_is_known_by_the_entry_that_serves_its_calls(make: Any) -> None:
    torch.compiler.reset()
    made = compiled(make(), (torch.ones(1, 3),))
    [_, *_] = everything = [entry.id for entry in cache.list()]
    for asked in (made, made.forward) if isinstance(made, nn.Module) else (made,):
        (entry,) = cache.list(asked)
        assert entry.id in everything
        assert cache.check(asked, torch.ones(1, 3)).winner == entry.id
