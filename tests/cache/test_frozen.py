"""A program that has called `gc.freeze()`, as servers do: the garbage collector tells nothing of
what was there before."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import stepper.cache as cache
from stepper.engines.common.decorating import decorate, place_of
from stepper.engines.dynamo.cache import BOOK
from stepper.model.cache import CacheError

STEPPER = Path(cache.__file__).parent
ASKS = {"get_objects", "get_referrers"}


def names_in(path: Path) -> set[str]:
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }


@pytest.fixture
def frozen() -> Iterator[Any]:
    def freeze() -> None:
        gc.collect()
        gc.freeze()

    yield freeze
    gc.unfreeze()


def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    return x * by


class Layer:
    @staticmethod
    def shifted(x: torch.Tensor) -> torch.Tensor:
        return x + 1


def entry_of(function: Any) -> cache.Entry:
    torch.compile(function, backend="eager")(torch.ones(2))
    (entry,) = cache.list(function)
    return entry


@pytest.mark.parametrize(("function", "found"), [(scaled, 2.0), (Layer.shifted, 2.0)])
def test_an_entry_is_run_whose_function_has_a_name(
    function: Any, found: float, frozen: Any
) -> None:
    entry = entry_of(function)
    frozen()
    assert cache.run(entry, torch.ones(2)).tolist() == [found, found]


def test_of_a_function_that_is_not_found_it_is_not_said_that_there_is_none(frozen: Any) -> None:
    def local(x: torch.Tensor) -> torch.Tensor:
        return x - 1

    entry = entry_of(local)
    frozen()
    with pytest.raises(CacheError, match=r"local is found: .* gc\.freeze\(\).* gc\.unfreeze\(\)"):
        cache.run(entry, torch.ones(2))
    gc.unfreeze()
    assert cache.run(entry, torch.ones(2)).tolist() == [0, 0]


def test_who_holds_an_object_is_perhaps_not_seen(frozen: Any) -> None:
    class Held:
        factor = 2.0

    holder = {"here": Held}

    def held_by(x: torch.Tensor, it: Any = Held) -> torch.Tensor:
        return x * it.factor

    entry = entry_of(held_by)
    frozen()
    (line,) = BOOK.view(entry.id).entry.lifelines
    (only,) = line.holders
    assert only == "perhaps what was there before gc.freeze() was called, which is not seen"
    gc.unfreeze()
    (line,) = BOOK.view(entry.id).entry.lifelines
    assert any("here" in text for text in line.holders)
    del holder


def test_a_method_is_decorated(frozen: Any) -> None:
    before = Layer.__dict__["shifted"]
    frozen()
    decorate(place_of(Layer.shifted.__code__), lambda function: lambda x: function(x) * 10)
    try:
        assert Layer.shifted(torch.ones(1)).tolist() == [20]
    finally:
        setattr(Layer, "shifted", before)  # noqa: B010  # it is no method for a type checker


LOOKED_FOR = {
    "debuggee/made_coroutines.py": "what has just been made",
    "engines/dynamo/versions/cache.py": "packages of entries, which nobody has by name",
}
"""Where the garbage collector is asked for what it may not see, and why that is right."""


def test_whoever_asks_the_garbage_collector_knows_what_it_does_not_see() -> None:
    files = {path.relative_to(STEPPER).as_posix(): path for path in STEPPER.rglob("*.py")}
    asking = {name for name, path in files.items() if ASKS & names_in(path)}
    assert {name for name in asking if "get_freeze_count" not in files[name].read_text()} == set(
        LOOKED_FOR
    )
