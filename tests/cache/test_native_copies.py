"""Copies of the native engine's entries: other guards, other bytecode, into the cache and out."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import stepper.cache
import stepper.native
from stepper.engines.native.engine import NativeEngine
from stepper.engines.native.entries import ENTRIES
from stepper.model.cache import CacheError, EntryState, Origin

pytestmark = pytest.mark.evaluator_out


def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * n + 1


@functools.cache
def _captured() -> Callable[[torch.Tensor, int], torch.Tensor]:
    return stepper.native.optimize("eager")(scaled)


def captured(x: torch.Tensor, n: int) -> torch.Tensor:
    """`scaled`, captured. Not when this module is imported: others need the evaluator out."""
    return _captured()(x, n)


@pytest.fixture
def entry() -> Iterator[stepper.cache.Entry]:
    """The entry of `scaled(ones, 3)`."""
    stepper.native.reset()
    captured(torch.ones(2), 3)
    yield stepper.cache.list(scaled)[0]
    stepper.native.reset()


def test_a_copy_without_a_guard_serves_what_the_original_refuses(
    entry: stepper.cache.Entry,
) -> None:
    copy = stepper.cache.clone(entry, drop="* L['n']*")
    assert copy.facts.state is EntryState.DRAFT
    assert copy.facts.origin is Origin.MADE
    assert "L['n']" not in {row.source for row in copy.guards}
    assert any("is no longer checked" in text for text in copy.facts.warnings)
    assert captured(torch.ones(2), 5)[0] == 6
    before = len(stepper.cache.list(scaled))
    stepper.cache.register(copy)
    assert copy.facts.state is EntryState.VALID
    assert captured(torch.ones(2), 7)[0] == 4  # 3 is what the code was made for
    assert len(stepper.cache.list(scaled)) == before
    stepper.cache.remove(copy)
    assert copy.facts.state is EntryState.DRAFT
    assert captured(torch.ones(2), 7)[0] == 8
    stepper.cache.register(copy)
    assert captured(torch.ones(2), 11)[0] == 4
    stepper.cache.remove(copy)
    stepper.cache.remove(copy)
    assert copy not in stepper.cache.list(scaled)


def test_a_guard_that_is_added_is_asked(entry: stepper.cache.Entry) -> None:
    copy = stepper.cache.clone(entry, add="L['x'].sum() > 10")
    assert copy.guards[-1].made
    assert stepper.cache.run(copy, torch.ones(2), 3)[0] == 4
    stepper.cache.register(copy)
    found = stepper.cache.check(scaled, torch.ones(2), 3)
    assert found.winner == entry.id
    found = stepper.cache.check(scaled, torch.full((2,), 9.0), 3)
    assert found.winner == copy.id
    with pytest.raises(CacheError, match="is no expression"):
        stepper.cache.clone(entry, add="L['x' >")


def test_other_bytecode_runs_in_the_functions_place(entry: stepper.cache.Entry) -> None:
    with pytest.raises(CacheError):
        stepper.cache.edit(entry, "NOTHING\n")
    copy = stepper.cache.edit(entry, lambda text: text)
    assert copy.facts.edits == ("bytecode edited",)
    again = stepper.cache.edit(copy, copy.bytecode)
    assert again == copy
    stepper.cache.register(copy)
    assert captured(torch.ones(2), 3)[0] == 4
    assert copy.facts.hits == 1


def test_what_was_not_made_by_hand_is_not_registered(entry: stepper.cache.Entry) -> None:
    with pytest.raises(CacheError, match="copy it first"):
        stepper.cache.register(entry)
    copy = stepper.cache.clone(entry)
    assert any("is tried first" in text for text in stepper.cache.register(copy).facts.warnings)
    with pytest.raises(CacheError, match="registered already"):
        stepper.cache.register(copy)
    with pytest.raises(CacheError, match="has no guard 99"):
        stepper.cache.clone(entry, drop=99)


def test_a_copy_dies_with_what_it_still_knows_by_identity() -> None:
    class Halved:
        by = 2

    def calls(held: Any, x: torch.Tensor) -> torch.Tensor:
        return x / held.by

    stepper.native.optimize("eager")(calls)(Halved, torch.ones(2))
    [original] = stepper.cache.list(calls)
    assert original.facts.lifelines
    copy = stepper.cache.clone(original)
    assert copy.facts.lifelines
    stepper.cache.register(copy)
    del Halved
    gc.collect()
    assert copy.facts.state is not EntryState.VALID
    with pytest.raises(CacheError):
        stepper.cache.clone(copy)


def test_the_session_makes_and_registers_copies_too(entry: stepper.cache.Entry) -> None:
    cache = NativeEngine().cache
    view = cache.clone(entry.id, (), ("True",))
    number = view.entry.id
    assert cache.edit(number, view.bytecode).entry.id == number
    assert cache.register(number).entry.state is EntryState.VALID
    assert "it is a draft again" in cache.remove(number)
    assert "is thrown away" in cache.remove(number)
    assert "the next call is captured anew" in cache.remove(entry.id)


def test_a_draft_is_asked_with_the_entries(entry: stepper.cache.Entry) -> None:
    draft = stepper.cache.clone(entry)
    found = stepper.cache.check(scaled, torch.ones(2), 3)
    (asked,) = (each for each in found.entries if each.entry == draft.id)
    assert asked.matches
    assert asked.reason == "it is a draft: the compiler does not know it"
    assert found.winner == entry.id


def test_a_witness_shows_that_a_guard_is_needed(entry: stepper.cache.Entry) -> None:
    row = next(row.index for row in entry.guards if row.source == "L['n']")
    found = ENTRIES.find_witness(entry.id, row, {"x": torch.ones(2), "n": 3})
    assert found.guard.source == "L['n']"
    assert any(trial.witness for trial in found.trials)
    with pytest.raises(CacheError, match="has no guard 99"):
        ENTRIES.find_witness(entry.id, 99, {"x": torch.ones(2), "n": 3})
