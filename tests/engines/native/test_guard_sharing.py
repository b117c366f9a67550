"""Conditions that look things up once mean what they meant."""

from __future__ import annotations

from typing import Any

import pytest

from stepper.engines.native.guard_sharing import share


class Counting(dict[str, Any]):
    """A dictionary that counts lookups."""

    count = 0

    def __getitem__(self, key: str) -> Any:
        self.count += 1
        return super().__getitem__(key)


def evaluate(conditions: list[str], L: Any) -> bool:
    return bool(eval(" and ".join(f"({each})" for each in conditions), {"L": L, "G": {}}))


def test_what_is_looked_up_again_has_a_name() -> None:
    assert share(["L['a'].b == 1", "L['a'].c == 2", "L['d'].e == 3"]) == [
        "(___0 := L['a']).b == 1",
        "___0.c == 2",
        "L['d'].e == 3",
    ]


def test_a_lookup_on_the_way_to_one_other_only_has_none() -> None:
    assert share(["L['a']['b'].c == 1", "L['a']['b'].d == 1"]) == [
        "(___0 := L['a']['b']).c == 1",
        "___0.d == 1",
    ]


@pytest.mark.parametrize(
    "condition",
    [
        "(L['a'].b if hasattr(L['a'], 'b') else True)",
        "L['a'] is None or L['a'].b",
        "[type(key) for key in L['a']] == []",
    ],
)
def test_what_may_not_be_evaluated_is_left_alone(condition: str) -> None:
    assert share([condition, condition])[0] == condition


def test_text_in_a_literal_is_no_lookup() -> None:
    value = "L['a'].b and \"L['a'].c\""
    conditions = [f"L['a'] == {value!r}", f"len(L['a']) == {len(value)}", f"{value!r} == L['a']"]
    assert evaluate(share(conditions), {"a": value})
    assert not evaluate(share(conditions), {"a": value.replace("b", "d")})


def test_each_thing_is_looked_up_once() -> None:
    L = Counting(a=Counting(b=1, c=2), d=3)
    conditions = ["L['a']['b'] == 1", "L['a']['c'] == L['d'] - L['a']['b']", "L['a']['c'] == 2"]
    assert evaluate(share(conditions), L)
    assert (L.count, L["a"].count) == (2, 2)
