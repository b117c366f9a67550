"""Trackers that hold others, described in C."""

from __future__ import annotations

from typing import Any

import pytest

from stepper import _C
from stepper._C import AS_CELL, AS_PARTS, AS_SET, MAX_ITEMS
from stepper.model.value import Value as Recorded
from tests.csrc.records import plain, unpacked

Value = plain(Recorded)


class Tracker:
    """What an engine's trackers inherit from."""

    def __init__(self, **fields: object) -> None:
        self.source = None
        self.mutation_type = None
        self.__dict__.update(fields)


class Key:
    """What stands for an element among the keys of a set."""

    def __init__(self, vt: object) -> None:
        self.vt = vt


class Describing:
    """As much of a describer as is asked for; it describes all trackers by one recipe."""

    alike: frozenset[type] = frozenset()

    def __init__(self, recipe: int, pending: dict[str, object] | None = None) -> None:
        self.realized: dict[int, object] = {}
        self.facts = _C.Facts(self, Tracker)
        self.recipe = recipe
        self.pending = pending
        self.numbered: list[object] = []

    def kind(self, kind: type) -> tuple[int, str, str, str]:
        return self.recipe, "Kind", "kind", ""

    def words(self, fields: dict[str, object]) -> tuple[str, str]:
        return "", ""

    def mutability(self, kind: type) -> tuple[str, bool]:
        return "new", True

    def attributes(self, tracker: object) -> dict[str, object] | None:
        return self.pending

    def number(self, tracker: object) -> int:
        self.numbered.append(tracker)
        return 10 + len(self.numbered)

    def described(self, tracker: Tracker) -> Any:
        self.facts.describe(tracker, self.number)
        run = self.facts.take()
        assert run is not None
        return Value(*unpacked(unpacked(run[2])[-1]))


def children(value: Any) -> list[tuple[str, int]]:
    return [(label, number) for label, number in value.items]


def test_a_set_holds_what_its_keys_stand_for() -> None:
    first, second = Tracker(), Tracker()
    engine = Describing(AS_SET)
    items = {Key(first): None, Key("no tracker"): None, Key(second): None, "no key": None}
    value = engine.described(Tracker(items=items))
    assert (value.text, value.type, value.length) == ("kind of 4", "kind", 4)
    assert children(value) == [("{0}", 11), ("{2}", 12)]
    assert engine.numbered == [first, second]


def test_of_a_large_set_the_first_elements_are_shown() -> None:
    items = {Key(Tracker()): None for _ in range(MAX_ITEMS + 50)}
    value = Describing(AS_SET).described(Tracker(items=items))
    assert (value.length, len(value.items)) == (MAX_ITEMS + 50, MAX_ITEMS)


def test_a_set_of_another_make_is_no_set() -> None:
    class Odd(dict[object, object]):
        def __iter__(self) -> Any:
            raise AssertionError("nobody's code is run")

    value = Describing(AS_SET).described(Tracker(items=Odd({Key(Tracker()): None})))
    assert (value.text, value.length, children(value)) == ("kind", None, [])


@pytest.mark.parametrize("make", [list, tuple])
def test_a_slice_has_up_to_three_parts(make: Any) -> None:
    parts = [Tracker(), None, Tracker(), Tracker()]
    value = Describing(AS_PARTS).described(Tracker(items=make(parts)))
    assert (value.text, value.type, value.length) == ("kind", "kind", None)
    assert children(value) == [(".start", 11), (".step", 12)]
    assert not Describing(AS_PARTS).described(Tracker(items=make())).items


def test_a_cell_holds_what_was_stored_in_it_last() -> None:
    before, after = Tracker(), Tracker()
    fields: dict[str, Any] = {"local_name": "total", "pre_existing_contents": before}
    engine = Describing(AS_CELL)
    value = engine.described(Tracker(**fields))
    assert (value.text, value.type) == ("total", "kind")
    assert children(value) == [(".cell_contents", 11)]
    assert engine.numbered == [before]
    engine = Describing(AS_CELL, {"other": Tracker(), "cell_contents": after})
    value = engine.described(Tracker(**fields, mutation_type=object()))
    assert children(value) == [(".cell_contents", 11)]
    assert engine.numbered == [after]
    engine = Describing(AS_CELL, {"cell_contents": "deleted"})
    assert not engine.described(Tracker(**fields, mutation_type=object())).items


@pytest.mark.parametrize("name", [None, "", 3])
def test_a_cell_without_a_name_is_a_cell(name: object) -> None:
    value = Describing(AS_CELL).described(Tracker(local_name=name, pre_existing_contents=None))
    assert (value.text, children(value)) == ("cell", [])


@pytest.mark.parametrize(
    ("recipe", "fields"),
    [
        (AS_SET, {"items": {Key(Tracker()): None}}),
        (AS_PARTS, {"items": [Tracker()]}),
        (AS_CELL, {"pre_existing_contents": Tracker()}),
    ],
)
def test_an_element_that_cannot_be_numbered_is_an_error(
    recipe: int, fields: dict[str, object]
) -> None:
    engine = Describing(recipe)

    def refuse(tracker: object) -> int:
        raise LookupError("no number")

    for _ in range(3):
        with pytest.raises(LookupError, match="no number"):
            engine.facts.describe(Tracker(**fields), refuse)
    assert engine.facts.take() is None
