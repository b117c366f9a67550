"""What the cache is told to be: codes, entries in order, what they weigh and live on."""

from __future__ import annotations

import gc
from typing import Any

import torch

import stepper.cache as cache
from stepper.engines.dynamo.cache import BOOK, backend_name
from stepper.model.cache import CachedCode, CacheEntry, EntryState


def listed(name: str) -> CachedCode:
    codes = [each for each in BOOK.listing(name).codes if each.filename == __file__]
    (code,) = [each for each in codes if each.qualname.endswith(name)]
    return code


def live(name: str) -> tuple[CacheEntry, ...]:
    entries = listed(name).entries
    return tuple(entry for entry in entries if entry.state is not EntryState.EVICTED)


def shape_of(x: torch.Tensor) -> torch.Tensor:
    return x.relu() + 1


def test_entries_stand_in_the_order_of_lookup() -> None:
    compiled = torch.compile(shape_of, backend="eager", dynamic=False)
    for size in (2, 3, 4):
        compiled(torch.ones(size))
    assert [entry.compile_id.split("/")[1] for entry in live("shape_of")] == list("210")
    compiled(torch.ones(2))  # a hit moves to the front
    code = listed("shape_of")
    assert [entry.compile_id.split("/")[1] for entry in live("shape_of")] == list("021")
    assert [entry.position for entry in live("shape_of")] == [0, 1, 2]
    assert (code.nearest, code.limit) == (3, torch._dynamo.config.recompile_limit)


def test_an_entry_says_what_it_is() -> None:
    torch.compile(shape_of, backend="eager")(torch.ones(2))
    (entry,) = live("shape_of")
    assert (entry.state, entry.backend, entry.region) == (EntryState.VALID, "eager", -1)
    assert entry.code_bytes > 100
    assert entry.graph_nodes == 4
    assert entry.graph_bytes
    assert entry.age is None  # it is older than any session
    view = BOOK.view(entry.id)
    assert len(view.guards) == entry.guards
    assert len(view.guards) > 3
    assert "relu" in view.graph
    assert view.code is not None
    assert view.original is not None
    assert view.code.qualname == view.original.qualname == "shape_of"
    assert "RETURN_VALUE" in view.bytecode


def test_two_backends_share_a_code() -> None:
    torch.compile(shape_of, backend="eager")(torch.ones(2))
    torch.compile(shape_of, backend="aot_eager")(torch.ones(2))
    assert {entry.backend for entry in live("shape_of")} == {"eager", "aot_eager"}
    assert backend_name(torch._TorchCompileInductorWrapper("default", None, None)) == "inductor"


def test_resume_functions_are_listed() -> None:
    def breaks(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    torch.compile(breaks, backend="eager")(torch.ones(2))
    (resumed,) = [
        code
        for code in BOOK.listing().codes
        if code.resume_of and any(each.state is EntryState.VALID for each in code.entries)
    ]
    assert resumed.resume_of == "breaks"


def test_a_death_and_a_reset_are_told() -> None:
    class Dies:
        factor = 2.0

    def uses(x: torch.Tensor, it: Any) -> torch.Tensor:
        return x * it.factor  # a comment: at 1 in itself

    torch.compile(uses, backend="eager")(torch.ones(2), Dies)
    (entry,) = listed("uses").entries
    (line,) = entry.lifelines
    assert (line.source, line.alive) == ("L['it']", True)
    assert "Dies" in line.object
    (detailed,) = BOOK.view(entry.id).entry.lifelines
    assert detailed.guards
    assert detailed.user_line is not None
    assert (detailed.user_line.filename, detailed.user_line.function) == (__file__, "uses")
    del Dies
    gc.collect()
    (entry,) = listed("uses").entries
    assert entry.state is EntryState.INVALID
    assert "L['it']" in entry.reason
    assert not entry.lifelines[0].alive
    gone = BOOK.view(entry.id)
    assert (gone.entry.state, gone.guards, gone.code) == (EntryState.INVALID, (), None)
    torch._dynamo.reset()
    (entry,) = listed("uses").entries
    assert entry.state is EntryState.EVICTED
    assert cache.list(uses) == []


def test_a_new_compilation_is_a_new_entry() -> None:
    compiled = torch.compile(shape_of, backend="eager")
    compiled(torch.ones(2))
    (before,) = cache.list(shape_of)
    torch._dynamo.reset()
    compiled(torch.ones(2))
    (after,) = cache.list(shape_of)
    assert before != after


def test_who_holds_an_object_is_named() -> None:
    class Held:
        factor = 2.0

    holder = {"here": Held}

    def held_by(x: torch.Tensor, it: Any) -> torch.Tensor:
        return x * it.factor  # a comment: at 1 in itself

    torch.compile(held_by, backend="eager")(torch.ones(2), Held)
    (entry,) = cache.list(held_by)
    (line,) = BOOK.view(entry.id).entry.lifelines
    assert any("here" in text for text in line.holders), line.holders
    del holder
