"""Values as data: whatever is compared can be written, read back, and told apart."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepper.model.cache import Verdict
from stepper.model.datum import (
    MAX_ITEMS,
    MAX_TEXT,
    Datum,
    NotAValue,
    Words,
    alike,
    datum,
    literal,
    text_of,
    value_of,
)
from stepper.model.lookup import Check, Difference, TriedEntry

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates, too
TRICKY = st.sampled_from(["≠", ", ", "a ≠ b, c", "'", '"', "\\", "(1, 2)", "[1]", "None", "1", ""])
PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | ANY_TEXT
    | TRICKY | st.binary() | st.just(...) | st.builds(range, st.integers(), st.integers())
    | st.builds(slice, st.none() | st.integers(), st.none() | st.integers())
)  # fmt: skip
HASHABLE = st.none() | st.booleans() | st.integers() | ANY_TEXT | st.binary()
VALUES = st.recursive(
    PLAIN | st.sets(HASHABLE) | st.frozensets(HASHABLE),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(HASHABLE, inner),
    max_leaves=20,
)


def in_words(value: object) -> str:
    return f"<{type(value).__name__}>"


def stored(difference: Difference) -> Difference:
    """As it is after it was written and read."""
    check = Check(0, Verdict.FAIL, 1, differences=(difference,))
    entry = TriedEntry(1, 1, "0/0", 1, False, (check,))
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(entry), type=TriedEntry)
    return read.checks[0].differences[0]


def same(one: Any, other: Any) -> bool:
    """Equal, of equal types all the way down, zeros and NaN by their bits."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return math.copysign(1, one) == math.copysign(1, other) and (
            one == other or (math.isnan(one) and math.isnan(other))
        )
    if isinstance(one, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    return bool(one == other)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(VALUES, VALUES)
def test_two_values_are_read_back_as_they_were_written(one: object, other: object) -> None:
    read = stored(Difference("value", datum(one, in_words), datum(other, in_words)))
    assert same(value_of(read.expected), one)
    assert same(value_of(read.actual), other)
    assert alike(read.expected, read.actual) == alike(datum(one, in_words), datum(other, in_words))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (1, "1"),
        ((1,), [1]),
        (0.0, -0.0),
        ("None", None),
        ({1}, frozenset({1})),
    ],
)  # fmt: skip
def test_values_that_python_or_a_reader_may_take_for_each_other_are_not_alike(
    one: object, other: object
) -> None:
    first, second = datum(one, in_words), datum(other, in_words)
    assert not alike(first, second)
    assert text_of(first) != text_of(second)


def test_nothing_of_the_programs_is_asked() -> None:
    class Loud(int):
        def __repr__(self) -> str:
            raise AssertionError

        __eq__ = __hash__ = __len__ = __iter__ = __repr__  # type: ignore[assignment]  # whoever asks anything fails

    found = datum([1, Loud(2)], in_words)
    assert text_of(found) == "[1, <Loud>]"
    with pytest.raises(NotAValue):
        value_of(found)


@pytest.mark.parametrize(
    "large", [[0] * (MAX_ITEMS + 1), "a" * (MAX_TEXT + 1), 1 << 10**6], ids=type
)
def test_what_is_too_large_is_kept_in_words_and_not_cut(large: object) -> None:
    assert datum(large, in_words) == Words(f"<{type(large).__name__}>")


def test_what_is_in_itself_is_kept_in_words() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert datum(loop, in_words) == Words("<list>")


@pytest.mark.parametrize(
    ("text", "found"), [("3", 3), ("'a == b'", "a == b"), ("torch.float32", Words("torch.float32"))]
)
def test_a_compilers_constant_is_a_value_where_it_is_plain(text: str, found: Datum) -> None:
    assert literal(text) == found
