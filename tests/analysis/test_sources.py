"""Sources as a person would write them."""

from __future__ import annotations

from stepper.analysis.sources import spelled


def by_place(dictionary: str, place: int) -> str:
    return f"{dictionary}[list(dict.keys({dictionary}))[{place}]]"


def test_a_value_by_the_place_of_its_key_is_one_of_the_values() -> None:
    source = by_place("L['self'].state", 0)
    assert spelled(source) == "list(self.state.values())[0]"
    assert spelled(by_place(source, 1)) == "list(list(self.state.values())[0].values())[1]"


def test_what_only_looks_so_is_left_as_it_is() -> None:
    assert spelled("a[list(dict.keys(b))[0]]") == "a[list(b)[0]]"
    for source in ("[list(dict.keys(" * 100, "x" * 100_000):
        assert spelled(source) == source
