"""Functions with `functools.lru_cache` that were there before: compiled code has the results that
the cache has, and the cache counts, keeps and lets go as in eager."""

from __future__ import annotations

import enum
import functools
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, run_graph

SCALE = [2]


def made(maxsize: int | None) -> tuple[Any, list[object]]:
    """Such a function, and with which arguments it ran."""
    ran: list[object] = []

    @functools.lru_cache(maxsize)
    def scaled(n: object = 3) -> Any:
        ran.append(n)
        return {"n": n, "by": SCALE[0], "of": torch.ones(2) * SCALE[0]}

    return scaled, ran


def once(cached: Any, x: Any) -> Any:
    return x + cached(4)["of"] * cached(4)["by"]


def several(cached: Any, x: Any) -> Any:
    found = cached(1), cached(2), cached(1.0), cached(True), cached("a"), cached(None), cached()
    return [x * each["by"] for each in found], found[0] is cached(1), found[0] is found[2]


def changed(cached: Any, x: Any) -> Any:
    cached(5)["more"] = x + 1
    return cached(5).get("more", x) * 2


def by_name(cached: Any, x: Any) -> Any:
    return x * cached(n=4)["by"]


class Object:
    pass


class Kind(enum.Enum):
    PLAIN = 1


OBJECT = Object()


def parts(cached: Any, x: Any) -> Any:
    return x * cached((1, ("a", None)))["by"] + cached(x.shape)["by"] + cached((x.shape, 1))["by"]


def objects(cached: Any, x: Any) -> Any:
    return x * cached(OBJECT)["by"] + cached(n=Kind.PLAIN)["by"] + cached((OBJECT,))["by"]


def after_a_change(cached: Any, x: Any) -> Any:
    SCALE[0] = 7
    return x * cached(6)["by"]


@pytest.mark.parametrize("maxsize", [None, 128, 2, 0])
@pytest.mark.parametrize("f", [once, several, changed, by_name, parts, objects, after_a_change])
def test_the_cache_is_as_in_eager(f: Callable[..., Any], maxsize: int | None) -> None:
    seen = []
    for compiled in (False, True):
        SCALE[0] = 2
        cached, ran = made(maxsize)
        call = native.optimize(run_graph)(f) if compiled else f
        told = []
        for number in range(5):
            told.append((repr(call(cached, torch.ones(2))), cached.cache_info(), list(ran)))
            SCALE[0] += 1
            if number == 2:
                cached.cache_clear()
            if number == 3:
                cached(4)
        seen.append(told)
    assert seen[0] == seen[1]


@functools.lru_cache
def table(n: int) -> dict[int, int]:
    return {each: each * 2 for each in range(n)}


def test_a_cached_function_breaks_no_graph() -> None:
    assert not check(lambda x: x * table(3)[2] + table(4)[3], torch.ones(3)).graph_break_count


@functools.lru_cache(8)
def scale(recipe: object, sizes: tuple[int, ...], *, kind: Kind) -> int:
    return len(sizes) + kind.value


@functools.lru_cache(8)
def recipe(pattern: str, names: tuple[str, ...], *, ndim: int) -> Object:
    return Object()


def test_keys_may_be_names_tuples_and_objects() -> None:
    def scaled(x: Any) -> Any:
        return x * scale(recipe("a b", ("a", "b"), ndim=x.ndim), x.shape, kind=Kind.PLAIN)

    expected = scaled(torch.ones(2, 3)).tolist()
    entries = 0

    def backend(gm: Any, inputs: Any) -> Any:
        nonlocal entries
        entries += 1
        return gm.forward

    call = native.optimize(backend, nopython=True)(scaled)
    assert [call(torch.ones(2, 3)).tolist() for _ in range(2)] == [expected, expected]
    recipe.cache_clear()
    recipe("a b", ("a", "b"), ndim=2)
    assert call(torch.ones(2, 3)).tolist() == expected
    assert entries == 2  # another object stands there, with which nothing was kept


def test_once_it_has_been_called_the_frame_is_captured_anew() -> None:
    cached, _ = made(None)
    sizes = []

    def backend(gm: Any, inputs: Any) -> Any:
        sizes.append(sum(node.op.startswith("call") for node in gm.graph.nodes))
        return gm.forward

    call = native.optimize(backend)(lambda x: (x + 1) * cached(4)["by"] + 2)
    for _ in range(3):
        call(torch.ones(2))
    assert (sizes[0], sizes[-1], sizes.count(3)) == (1, 3, 1)


class Recipe:
    def __init__(self, size: int) -> None:
        self.size = size


@functools.cache
def recipe_of(pattern: str) -> Recipe:
    return Recipe(len(pattern))


@functools.lru_cache(64)
def sizes_of(recipe: Recipe, shape: tuple[int, ...], by: int = 1) -> tuple[int, ...]:
    return tuple(size * recipe.size * by for size in shape)


@functools.cache
def numbers(n: int) -> torch.Tensor:
    return torch.ones(n) * recipe_of("inner" * n).size


CHANGES = [1]


@functools.cache
def noted(n: int) -> int:
    CHANGES.append(n)
    return n


@functools.lru_cache(2)
def few(n: int) -> int:
    return n + 1


@functools.lru_cache(typed=True)
def typed(n: float) -> float:
    return n + 1


@functools.cache
def divided(n: int) -> float:
    return 1 / n


@functools.cache
def grows() -> bool:
    return torch.is_grad_enabled()


def chained(x: Any, pattern: str) -> Any:
    recipe = recipe_of(pattern)
    sizes = sizes_of(recipe, tuple(x.shape)) + sizes_of(recipe, (2,), by=3)
    return x + sizes[0] + sizes[-1], recipe is recipe_of(pattern)


def of_tensors(x: Any, pattern: str) -> Any:
    return x + numbers(len(pattern)).sum(), numbers(len(pattern)).requires_grad


def not_before(x: Any, pattern: str) -> Any:
    return x + noted(len(pattern)) + CHANGES[-1]


def without_room(x: Any, pattern: str) -> Any:
    return x + sum(few(n) for n in range(len(pattern) + 2))


def by_kind(x: Any, pattern: str) -> Any:
    return x + typed(len(pattern)) + typed(float(len(pattern)))


def caught(x: Any, pattern: str) -> Any:
    try:
        return x + divided(len(pattern) - 1)
    except ZeroDivisionError:
        return x - 1


def in_a_mode(x: Any, pattern: str) -> Any:
    with torch.no_grad():
        return x + grows() + recipe_of(pattern).size


@functools.cache
def listed(n: int) -> list[int]:
    return [n]


@functools.cache
def counted(n: int) -> int:
    return len(listed(n))


def changed_between(x: Any, pattern: str) -> Any:
    listed(len(pattern)).append(0)
    return x + counted(len(pattern))


def after_a_print(x: Any, pattern: str) -> Any:
    y = x + recipe_of(pattern).size
    print(end="")
    return y + sizes_of(recipe_of(pattern), (1,))[0]


WITH_FIRST_CALLS = [
    chained, of_tensors, not_before, without_room, by_kind, caught, in_a_mode, after_a_print,
    changed_between,
]  # fmt: skip
KEPT = (recipe_of, sizes_of, numbers, noted, few, typed, divided, grows, listed, counted)


@pytest.mark.parametrize(
    ("f", "nopython"),
    [(f, False) for f in WITH_FIRST_CALLS] + [(f, True) for f in (chained, of_tensors, in_a_mode)],
)
def test_first_calls_are_as_in_eager(f: Callable[..., Any], nopython: bool) -> None:
    seen = []
    for compiled in (False, True):
        for each in KEPT:
            each.cache_clear()
        CHANGES[:] = [1]
        call = native.optimize(run_graph, nopython=nopython)(f) if compiled else f
        told = []
        for pattern in ("a", "bb", "a", "ccc"):
            result = repr(call(torch.ones(2), pattern))
            told.append((result, [each.cache_info() for each in KEPT], [*CHANGES]))
        seen.append(told)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("f", [chained, of_tensors, in_a_mode])
def test_a_first_call_that_nobody_sees_breaks_no_graph(f: Callable[..., Any]) -> None:
    for each in KEPT:
        each.cache_clear()
    graphs: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    assert torch.equal(native.optimize(backend)(f)(torch.ones(2), "a")[0], f(torch.ones(2), "a")[0])
    assert len(graphs) == 1


def test_where_one_graph_is_asked_for_it_is_called_before() -> None:
    SCALE[0] = 2
    cached, ran = made(None)
    call = native.optimize(run_graph, nopython=True)(
        lambda x: x * cached(4)["by"] * cached(5)["by"]
    )
    assert call(torch.ones(2)).tolist() == [4, 4]
    assert ran == [4, 5]
    assert cached.cache_info()[:2] == (0, 2)


def fails(n: int) -> int:
    raise ValueError(n)


def test_an_error_is_the_programs() -> None:
    cached = functools.cache(fails)
    check(lambda x: x * cached(3), torch.ones(3))


def test_what_was_called_before_a_capture_that_failed_counts_once() -> None:
    SCALE[0] = 2
    held, ran = made(None)

    def function(x: Any, unclear: bool, cached: Any = held) -> Any:
        y = x * cached(4)["by"]
        print(end="") if unclear else None
        return y

    call = native.optimize(run_graph, nopython=True)(function)
    with pytest.raises(native.Unsupported):
        call(torch.ones(2), True)
    kept = weakref.ref(held)
    assert (ran, held.cache_info()[:2]) == ([4], (0, 1))
    for hits in (1, 2):
        assert call(torch.ones(2), False).tolist() == [2, 2]
        assert (ran, held.cache_info()[:2]) == ([4], (hits, 1))
    del held, function, call
    gc.collect()
    assert kept() is None
