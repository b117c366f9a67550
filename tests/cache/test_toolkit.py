"""Copies of entries: other guards, other bytecode, into the cache and out of it."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import pytest
import torch

import stepper.cache as cache
from stepper.engines.dynamo.entries import ENTRIES
from stepper.model.cache import CacheError, EntryState, Origin


def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    return x * factor


class Miss(Exception):
    """A call that no entry served."""


graph_calls = 0


def counted(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
    def run(*args: Any) -> Any:
        global graph_calls
        graph_calls += 1
        return graph(*args)

    return run


def compile_once(function: Any = scaled, *args: Any) -> tuple[Any, cache.Entry]:
    made = torch.compile(function, backend=counted, dynamic=False)
    made(*(args or (torch.ones(3),)))
    return made, cache.list(function)[0]


def hit(made: Any, *args: Any) -> Any:
    # Not `fail_on_recompile`: a frame callback that raises leaves Dynamo's evaluator in for good,
    # and in this process there are tests that need it out.
    before = graph_calls
    with torch.compiler.set_stance("eager_on_recompile"):
        result = made(*args)
    if graph_calls == before:
        raise Miss
    return result


def times_ten(text: str) -> str:
    body = text.rstrip().removesuffix("RETURN_VALUE")
    return f"{body}LOAD_CONST 10.0\nBINARY_OP BinaryOp.MULTIPLY\nRETURN_VALUE\n"


def test_a_copy_without_a_guard_serves_more_calls() -> None:
    made, entry = compile_once()
    copy = cache.clone(entry, drop="TENSOR_MATCH L['x']", add="L['x'].dim() == 1")
    with pytest.raises(Miss):
        hit(made, torch.ones(5))
    cache.register(copy)
    assert torch.equal(hit(made, torch.ones(5)), torch.full((5,), 2.0))
    with pytest.raises(Miss):
        hit(made, torch.ones(5, 5))  # what was added is checked
    cache.remove(copy)
    with pytest.raises(Miss):
        hit(made, torch.ones(5))
    hit(made, torch.ones(3))


def test_a_copy_checks_what_the_original_checks() -> None:
    _, entry = compile_once()
    copy = cache.clone(entry)
    for args in ((torch.ones(3),), (torch.ones(4),), (torch.ones(3), 3.0), (torch.ones(3).int(),)):
        found = cache.check(scaled, *args).entries
        assert found[0].matches is found[1].matches, args
        verdicts = [[check.verdict for check in each.checks] for each in found]
        assert verdicts[0] == verdicts[1]
    with torch.no_grad():
        assert not any(each.matches for each in cache.check(scaled, torch.ones(3)).entries)
    assert copy.facts.origin is Origin.MADE


def test_tensor_guards_of_a_copy_see_the_thread_as_it_is() -> None:
    made, entry = compile_once()
    cache.register(cache.clone(entry, drop="GLOBAL_STATE"))
    leaf = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        assert cache.check(scaled, torch.ones(3)).winner is not None
    assert cache.check(scaled, leaf).winner is None
    hit(made, torch.ones(3))


def test_edited_bytecode_runs() -> None:
    made, entry = compile_once()
    copy = cache.edit(entry, times_ten)
    assert torch.equal(cache.run(copy, torch.ones(3)), torch.full((3,), 20.0))
    assert not cache.compare(copy, torch.ones(3)).same
    assert torch.equal(made(torch.ones(3)), torch.full((3,), 2.0))
    cache.register(copy)
    assert torch.equal(made(torch.ones(3)), torch.full((3,), 20.0))
    cache.remove(copy)
    assert torch.equal(made(torch.ones(3)), torch.full((3,), 2.0))


def test_what_an_edit_gives_up_is_said() -> None:
    made, entry = compile_once()
    made(torch.ones(4))
    copy = cache.clone(entry, drop="TENSOR_MATCH L['x']")
    assert any("TENSOR_MATCH L['x'] is no longer checked" in each for each in copy.warnings)
    cache.register(copy)
    said = " ".join(copy.warnings)
    assert "every backend" in said
    assert "never run" in said
    # It checks less than each of them.
    for other in cache.list(scaled):
        if other != copy:
            assert f"entry {other.id}" in said
    edited = cache.edit(entry, times_ten)
    assert any("edited bytecode" in each for each in edited.warnings)


def test_an_entry_for_other_values_is_not_called_shadowed() -> None:
    made, entry = compile_once()
    made(torch.ones(4))
    copy = cache.register(cache.clone(entry))
    (other,) = [each for each in cache.list(scaled) if each not in (copy, entry)]
    assert f"entry {other.id}" not in " ".join(copy.warnings)


def test_guards_that_depend_on_an_object_die_with_it() -> None:
    class Dies:
        factor = 2.0

    def uses(x: torch.Tensor, it: Any) -> torch.Tensor:
        return x * it.factor

    _, entry = compile_once(uses, torch.ones(3), Dies)
    kept = cache.register(cache.clone(entry, drop="TENSOR_MATCH *"))
    freed = cache.clone(entry, drop="* L['it']*")
    del Dies
    gc.collect()
    assert kept.facts.state is EntryState.INVALID
    assert "Dies" in kept.facts.reason
    assert freed.facts.state is EntryState.DRAFT

    class Other:
        factor = 2.0

    assert cache.check(uses, torch.ones(3), Other).winner is None
    with pytest.raises(CacheError, match="Dies"):
        cache.clone(kept)


def test_a_copy_outlives_the_entry_that_it_comes_from() -> None:
    made, entry = compile_once()
    copy = cache.clone(entry, drop="TENSOR_MATCH *")
    torch._dynamo.reset()
    gc.collect()
    assert torch.equal(cache.run(copy, torch.ones(7)), torch.full((7,), 2.0))
    cache.register(copy)
    assert torch.equal(hit(made, torch.ones(7)), torch.full((7,), 2.0))
    torch._dynamo.reset()
    assert copy.facts.state is EntryState.DRAFT
    cache.remove(copy)
    with pytest.raises(CacheError, match="no cache entry"):
        copy.guards  # noqa: B018  # to ask is what is tested


def test_copies_of_copies_add_up() -> None:
    _, entry = compile_once()
    one = cache.clone(entry, drop="TENSOR_MATCH *", add="L['x'].dim() == 1")
    two = cache.clone(one, drop=len(one.guards) - 1, add=("L['x'].dim() < 3", "True"))
    assert [row.code[0] for row in two.guards if row.made] == ["L['x'].dim() < 3", "True"]
    assert [each.matches for each in cache.check(scaled, torch.ones(2, 2)).entries] == [
        False,
        False,
        True,
    ]


def test_several_registered_entries_come_out_one_by_one() -> None:
    made, entry = compile_once()
    first = cache.register(cache.edit(entry, times_ten))
    second = cache.register(cache.clone(entry, drop="TENSOR_MATCH *"))
    assert float(hit(made, torch.ones(3))[0]) == 20
    cache.remove(first)
    assert float(hit(made, torch.ones(3))[0]) == 2
    assert second.facts.state is EntryState.VALID
    hit(made, torch.ones(9))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("POP_TOP\nRETURN_VALUE", "takes more than is on the stack"),
        ("RESUME 0\nLOAD_FAST", "LOAD_FAST"),
        ("RESUME 0\nNO_SUCH_THING", "no instruction"),
        ("RESUME 0\nJUMP_FORWARD L1", "labelled L1"),
        ("RESUME 0\nLOAD_CONST @99\nRETURN_VALUE", "no constant"),
        ("RESUME 0\nTRY L1 depth=0", "no END"),
        (
            "RESUME 0\nTRY L1 depth=3\nLOAD_FAST x\nEND\nRETURN_VALUE\nL1:\nRERAISE 0",
            "keeps 3 values",
        ),
    ],
)
def test_code_that_cannot_run_is_refused(text: str, reason: str) -> None:
    _, entry = compile_once()
    with pytest.raises(CacheError, match=reason):
        cache.edit(entry, text)


def test_what_cannot_be_done_is_explained() -> None:
    _, entry = compile_once()
    copy = cache.register(cache.clone(entry))
    for attempt, reason in (
        (lambda: cache.register(copy), "registered already"),
        (lambda: cache.remove(entry), "not made by hand"),
        (lambda: cache.clone(entry, drop=999), "no guard 999"),
        (lambda: cache.clone(entry, drop="NOTHING"), "TENSOR_MATCH L\\['x'\\]"),
        (lambda: cache.clone(entry, add="L['x'"), "no expression"),
        (lambda: cache.list(3), "int has no code of its own: give what torch.compile returned"),
    ):
        with pytest.raises(CacheError, match=reason):
            attempt()


def test_bytecode_of_a_registered_copy_is_edited_in_another_copy() -> None:
    _, entry = compile_once()
    copy = cache.register(cache.clone(entry))
    edited = cache.edit(copy, times_ten)
    assert edited != copy
    assert edited.facts.copied_from == copy.id
    assert copy.facts.state is EntryState.VALID
    assert "bytecode edited" not in copy.facts.edits


def test_a_guard_of_a_copy_is_tried_as_those_of_entries_are() -> None:
    _, entry = compile_once()
    copy = cache.clone(entry, add="L['x'].dim() == 1")
    tensor = next(row.index for row in copy.guards if row.kind == "TENSOR_MATCH")
    found = ENTRIES.find_witness(copy.id, tensor, {"x": torch.ones(3)})
    assert found.guard.kind == "TENSOR_MATCH"
    assert any("ADDED" in other for trial in found.trials for other in trial.others)


def overlapping(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    a.add_(1)
    return a.sum() + b.sum() + c.sum()


def test_a_copy_knows_which_memory_overlaps() -> None:
    made = torch.compile(overlapping, backend="aot_eager", dynamic=True)
    base = torch.ones(40)
    places = [(0, 4), (2, 7), (8, 12), (10, 13), (20, 24)]
    calls = [
        [base[start:stop] for start, stop in chosen] for chosen in itertools.permutations(places, 3)
    ]
    calls += [[base[0:8:2], base[1:9:2], base[9:12]], [base[:4], torch.ones(4), base[4:7]]]
    for call in calls[:12]:
        made(*call)
    entries = cache.list(made)
    with_guard = [entry for entry in entries if any("OVERLAP" in row.kind for row in entry.guards)]
    assert len(with_guard) > 2
    copies = {cache.clone(entry).id: entry.id for entry in with_guard}
    seen = set()
    for call in calls:
        matches = {each.entry: each.matches for each in cache.check(overlapping, *call).entries}
        for copy, entry in copies.items():
            assert matches[copy] == matches[entry]
            seen.add(matches[copy])
    assert seen == {True, False}
    # And it can be left out, which is said.
    without = cache.clone(with_guard[0], drop="STORAGE_OVERLAPPING*")
    assert "STORAGE_OVERLAPPING" in without.warnings[0]
