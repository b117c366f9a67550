"""Nothing of torch's or of the program's lives longer because it is watched; a longer run of the
same is `python -m tests.lifetime`."""

from __future__ import annotations

import gc
import weakref
from types import CodeType

import pytest

from stepper.support.per_object import PerCode, PerObject
from tests.lifetime.child import WAYS
from tests.lifetime.comparing import ENGINES, growth, held, taken

_ROUNDS = 24
"""Each program once between two counts, so a leak of one object a program shows."""


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_watched_dies_as_if_it_were_not(engine: str, how: str) -> None:
    assert held(engine, how, _ROUNDS) == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_compile_that_is_recorded_adds_little_to_the_process(engine: str) -> None:
    alone, watched = taken(f"{engine}:plain", _ROUNDS), taken(f"{engine}:all", _ROUNDS)
    more = growth(watched, "memory", "resident") - growth(alone, "memory", "resident")
    assert more / (_ROUNDS // 2) < 200_000


class _Thing:
    pass


def test_a_book_by_identity_forgets_what_has_died() -> None:
    book: PerObject[_Thing, str] = PerObject()
    thing = _Thing()
    book.set(thing, "known")
    assert book.get(thing) == "known"
    assert book.living() == [thing]
    del thing
    assert book.living() == []
    assert not book._entries


def test_an_address_that_is_used_again_is_another_object() -> None:
    """The next object of a size is made where the last one was."""
    book: PerObject[_Thing, int] = PerObject()
    seen: dict[int, int] = {}
    again = 0
    for number in range(1000):
        thing = _Thing()
        assert book.get(thing) is None
        again += id(thing) in seen
        seen[id(thing)] = book.set(thing, number)
        assert book.get(thing) == number
        del thing
    assert again > 900, "no address was used again: this tests nothing"


def test_an_address_that_is_used_again_is_another_code() -> None:
    book: PerCode[int] = PerCode()
    addresses: list[int] = []
    for number in range(200):
        code = _code(number)
        assert book.get(code) is None
        book.set(code, number)
        addresses.append(id(code))
        del code
    assert len(set(addresses)) < 100, "no address was used again: this tests nothing"


def _code(number: int) -> CodeType:
    return (lambda: None).__code__.replace(co_firstlineno=number + 1)


def test_a_book_keeps_the_value_that_was_set_last() -> None:
    book: PerObject[_Thing, str] = PerObject()
    thing = _Thing()
    book.set(thing, "first")
    book.set(thing, "second")
    gc.collect()
    assert book.get(thing) == "second"
    assert book.pop(thing) == "second"
    assert book.get(thing) is None
    assert weakref.getweakrefcount(thing) == 0
