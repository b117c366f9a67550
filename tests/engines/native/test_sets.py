"""Sets and frozensets, of what and in which order; what is asked of one is guarded."""

from __future__ import annotations

import dataclasses
import enum
import random
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out


def made(x: Any) -> Any:
    seen = {1, 9, 17, 33}
    seen.add(65)
    seen.discard(9)
    seen.update([2])
    for n in seen:
        x = x * n + len(seen)
    return x, list(seen), seen, 9 in seen, sorted({"b", "a"})


def combined(x: Any) -> Any:
    a, b = {8, 16, 3}, {n * 8 for n in range(5)}
    return x + len(a | b), a | b, a & b, a - b, a ^ b, [*(a | b)], a <= b, a.isdisjoint(b)


def raises(x: Any) -> Any:
    found = set(range(1, 3))
    try:
        found.remove(5)
    except KeyError as error:
        x = x + error.args[0]
    return x, found


def changed(x: Any, given: set[int]) -> Any:
    given.add(40)
    given.discard(1)
    return x + len(given), given, 40 in given


def made_of_a_changed_one(x: Any, given: set[int]) -> Any:
    y = x.sin()
    given.add(40)
    made = given | {5}
    return y * len(made), made, 5 in made


def asked_of_a_changed_one(x: Any, given: set[int]) -> Any:
    given.add(40)
    extra = {5}
    extra.update(given)
    return x.sin() * len(given | {7, 8}) + len(extra)


def gone_through(x: Any, given: set[int]) -> Any:
    for n in given:
        x = x * n
    return -x, given | {5}, {5} - given


def gone_through_pairs(x: Any, given: set[tuple[int, int]]) -> Any:
    return x + 1, list(given)


def test_a_tuple_in_a_set_stays_the_same_object() -> None:
    captured = native.optimize(run_graph, nopython=True)(gone_through_pairs)
    for _ in range(2):
        pairs = [(number, number + 1) for number in range(3)]
        found = captured(torch.ones(2), set(pairs))[1]
        assert sorted(map(id, found)) == sorted(map(id, pairs))


@pytest.mark.parametrize("function", [made, combined, raises])
def test_a_new_set_is_captured(function: Any) -> None:
    explanation = check(function, torch.ones(3))
    assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)


@pytest.mark.parametrize("given", [set(), {1, 2, 3}, {64, 8, 16}])
def test_what_is_made_of_a_changed_set_is_known_where_nobody_has_it(given: set[int]) -> None:
    assert check(asked_of_a_changed_one, torch.ones(3), given).breaks == []
    assert check(made_of_a_changed_one, torch.ones(3), given).graph_count == 2


@pytest.mark.parametrize("function", [changed, gone_through])
@pytest.mark.parametrize("given", [set(), {1, 2, 3}, {64, 8, 16}])
def test_a_set_that_existed_is_captured(function: Any, given: set[int]) -> None:
    explanation = check(function, torch.ones(3), given)
    assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)


def test_a_frozenset_stays_the_same_object() -> None:
    def ask(x: Any, given: frozenset[int]) -> Any:
        return x + len(given), given

    given = frozenset({3, 4})
    assert native.optimize(run_graph)(ask)(torch.ones(2), given)[1] is given


class Plain:
    """Hashed by its identity."""


class Equal:
    """Equal to all of its class."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)

    def __hash__(self) -> int:
        return 1


def seen_once(x: Any, params: list[Any]) -> Any:
    seen = set()
    for each in params:
        if each in seen:
            continue
        seen.add(each)
        x = x + each.sum()
    return x, len(seen), bool(seen), seen


def asks(x: Any, given: set[Any], one: Any, other: Any) -> Any:
    found = (one in given, other in given, one in {other}, len({one, other}), len(given))
    return x + len(given), found


def changes(x: Any, given: set[Any], one: Any, other: Any) -> Any:
    x = x + (one in given)
    given.add(one)
    given.discard(other)
    if one in given:
        x = x * 2
    given.update([other])
    given.remove(one)
    return x + len(given), one in given, other in given, given


def same_elements(a: set[Any], b: set[Any]) -> bool:
    return type(a) is type(b) and set(map(id, a)) == set(map(id, b))


def objects() -> dict[str, Any]:
    return {
        "tensor": lambda: torch.ones(2),
        "module": lambda: torch.nn.ReLU(),
        "object": Plain,
        "function": lambda: lambda: 1,
    }


def test_objects_that_come_twice_are_seen_once() -> None:
    captured = native.optimize(run_graph, nopython=True)(seen_once)
    a, b, c = (torch.full((2,), float(n)) for n in range(3))
    for params in ([a, b, a], [b, c, b], [a, b, c], [a, a, a], [c, c, c]):
        expected, got = seen_once(torch.ones(2), params), captured(torch.ones(2), params)
        assert torch.equal(expected[0], got[0])
        assert expected[1:3] == got[1:3]
        assert same_elements(expected[3], got[3])


@pytest.mark.parametrize("kind", objects())
@pytest.mark.parametrize("holds", [(), (0,), (1,), (0, 1), (2,), (0, 1, 2)])
def test_a_set_of_objects_is_asked(kind: str, holds: tuple[int, ...]) -> None:
    captured = native.optimize(run_graph, nopython=True)(asks)
    made = [objects()[kind]() for _ in range(3)]
    x = torch.ones(2)
    for some in (holds, (0,), (), (1, 2), holds):
        given = {made[index] for index in some}
        for one, other in ((made[0], made[1]), (made[1], made[0])):
            expected, got = asks(x, given, one, other), captured(x, given, one, other)
            assert torch.equal(expected[0], got[0])
            assert expected[1] == got[1]


@pytest.mark.parametrize("kind", objects())
@pytest.mark.parametrize("holds", [(), (0,), (1,), (0, 1), (2,)])
def test_a_set_of_objects_is_changed(kind: str, holds: tuple[int, ...]) -> None:
    captured = native.optimize(run_graph, nopython=True)(changes)
    made = [objects()[kind]() for _ in range(3)]
    x = torch.ones(2)
    for some in (holds, (0, 1), (2,), holds):
        sets = [{made[index] for index in some} for _ in range(2)]
        expected = changes(x, sets[0], made[0], made[1])
        got = captured(x, sets[1], made[0], made[1])
        assert torch.equal(expected[0], got[0])
        assert expected[1:3] == got[1:3]
        assert got[3] is sets[1]
        assert same_elements(sets[0], sets[1])


def goes_through(x: Any, given: set[Any]) -> Any:
    for each in given:
        x = x + each
    return x, list(given)


def goes_through_its_own(x: Any, other: Any) -> Any:
    return [each.shape for each in {x, other}]


def equal_elements(x: Any, one: Any, other: Any) -> Any:
    return x + len({one, other}), one in {other}


def removes_what_is_not_there(x: Any, given: set[Any]) -> Any:
    try:
        given.remove(x)
    except KeyError as error:
        return x + 1, error.args[0] is x
    return x - 1, given


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (goes_through_its_own, lambda: (torch.ones(2),)),
        (equal_elements, lambda: (Equal(), Equal())),
    ],
)
def test_what_nobody_knows_of_a_set_breaks_the_graph(function: Any, arguments: Any) -> None:
    given = arguments()
    x = torch.ones(2)
    expected = function(x, *given)
    got = native.optimize(run_graph)(function)(x, *given)
    assert str(expected) == str(got)
    native.reset()
    explanation = native.explain(function)(x, *given)
    assert explanation.breaks or explanation.skips


@pytest.mark.parametrize("function", [goes_through, removes_what_is_not_there])
@pytest.mark.parametrize("holds", [(), (0,), (2, 1), (0, 1, 2)])
def test_a_set_of_objects_that_existed_is_gone_through(
    function: Any, holds: tuple[int, ...]
) -> None:
    tensors = [torch.full((2,), float(n)) for n in range(3)]
    given, x = {tensors[place] for place in holds}, torch.ones(2)
    captured = native.optimize(run_graph, nopython=True)(function)
    for _ in range(2):
        assert str(captured(x, given)) == str(function(x, given))


def with_itself(x: Any) -> Any:
    made = {9, 17, (3, "x"), 33, 2.5}
    other = set({2: 0, 17: 0, "y": 0, "z": 0, 33: 0})
    both = made | made, made & made, other | other, other & other, other.union(other, made)
    made.update(made)
    made.add("late")
    other -= {17}
    few = frozenset([9, "bc", (3, "x"), 2.5])
    return x + len(made), made, other, both, few & few, few.copy()


def test_what_a_set_does_with_itself_keeps_its_order() -> None:
    assert check(with_itself, torch.ones(2)).breaks == []


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass(frozen=True)
class Size:
    width: int
    name: str = "small"


def of_all_kinds(x: Any, given: set[Any]) -> Any:
    made = {Color.RED, len, 3, "four", None, Size(1), Plain, (Size(2), Color.BLUE)}
    made.discard(3)
    made |= {Size(1), Size(2, "large"), torch.relu}
    read = [*made, made.pop()]
    return x + len(made), read, made, Size(1) in given, Size(2) in given, list(given)


@pytest.mark.parametrize("given", [set(), {Size(1)}, {Size(2), Size(1), Size(3)}])
def test_records_and_objects_keep_their_order(given: set[Any]) -> None:
    explanation = check(of_all_kinds, torch.ones(2), given)
    assert (explanation.breaks, explanation.skips) == ([], [])


def keeps_what_was_read(x: Any, given: set[Any]) -> Any:
    kept = set(given)
    given.clear()
    given.update([Color.BLUE, *kept])
    return x + len(given), given, kept


def test_elements_are_read_before_a_set_is_changed() -> None:
    for given in ({Color.RED}, {Color.BLUE, Color.RED}, {Plain}):
        expected = keeps_what_was_read(torch.ones(2), {*given})
        got = native.optimize(run_graph)(keeps_what_was_read)(torch.ones(2), {*given})
        assert str(got) == str(expected)


def joins_views(x: Any, a: dict[Any, int], b: dict[Any, int], some: set[Any]) -> Any:
    keys, others = a.keys(), b.keys()
    items, pairs = a.items(), b.items()
    of_keys = keys | others, keys - others, keys ^ others, keys & others
    of_items = items | pairs, items - pairs, items ^ pairs, items & pairs
    mixed = keys | [1, 9], keys - (17,), keys ^ {3: 1}, some | keys, some - keys, some ^ keys
    found = keys <= others, items < pairs, keys >= some, some >= keys, keys == some, items != pairs
    return x, [[*each] for each in (*of_keys, *of_items)], [len(each) for each in mixed], found


@pytest.mark.parametrize("seed", range(12))
def test_views_are_joined_as_sets_in_the_same_order(seed: int) -> None:
    draw = random.Random(seed)
    keys = (1, 9, 17, 33, 65, 2, 3, 8, 16, 24, 32, "a", 5)
    given = [{draw.choice(keys): draw.choice((1, 2)) for _ in range(size)} for size in (7, 5, 3)]
    native.reset()
    explanation = check(joins_views, torch.ones(1), given[0], given[1], set(given[2]))
    assert explanation.breaks == []


def finds_by_number(x: Any, seen: Any, given: list[Any]) -> Any:
    return x + 1 if id(given) in seen else x - 1


@pytest.mark.parametrize("kind", [set, dict.fromkeys])
def test_an_address_is_found_among_numbers(kind: Any) -> None:
    given = [1]
    captured = native.optimize(run_graph)(finds_by_number)
    assert captured(torch.ones(1), kind([id(given)]), given).item() == 2
    assert captured(torch.ones(1), kind([5]), given).item() == 0


def compares_with_others(x: torch.Tensor, names: Any) -> Any:
    known = {"a", "b", "c"}
    return x + 1, known.issuperset(names), known.isdisjoint("xy"), {1, 2}.issubset([3, 2, 1])


def test_sets_are_compared_with_what_is_no_set() -> None:
    captured = native.optimize_assert(run_graph)(compares_with_others)
    for names in (("a", "b"), ["a", "d"], "abc", {"a": 1}):
        expected = compares_with_others(torch.ones(2), names)
        assert str(captured(torch.ones(2), names)) == str(expected)


class Bag(set[Any]):
    """A set that counts, and goes through its elements in an order of its own."""

    def __init__(self, items: Any = ()) -> None:
        super().__init__(items)
        self.added = 0

    def add(self, item: Any) -> None:
        self.added += 1
        super().add(item)

    def largest(self) -> Any:
        return max(self)


class Ordered(Bag):
    def __iter__(self) -> Any:
        return iter(sorted(super().__iter__()))


class Fixed(frozenset[Any]):
    def __new__(cls, items: Any = ()) -> Any:
        return super().__new__(cls, items)


def of_ones_own_made(x: Any) -> Any:
    bag, ordered, fixed = Bag([33, 1, 9, 17]), Ordered({5, 3}), Fixed([65, 1, 33, 8, 16])
    bag.add(65)
    bag.discard(1)
    bag.update([2, 3], (8,))
    bag |= ordered
    bag ^= {17, 70}
    copied = bag.copy(), bag | {16}, {16} | bag, bag & fixed, fixed - bag, set(bag), Fixed(fixed)
    asked = 9 in bag, bag <= copied[0], bag == copied[1], bag.isdisjoint(fixed), bool(Bag())
    popped = bag.pop()
    orders = [*bag], [*ordered], [*fixed], [*copied[-1]], [[*each] for each in copied]
    return x * bag.largest() + len(bag), bag.added, popped, asked, orders, bag, ordered, fixed


def of_ones_own_that_existed(x: Any, bag: Bag, fixed: Fixed) -> Any:
    read = [*bag], [*fixed], bag | {5}, fixed & bag, {5} - bag
    bag.add(40)
    bag.discard(1)
    bag |= fixed
    bag -= {64}
    return x * len(bag) + bag.added, read, 40 in bag, 16 in fixed, bag, bag >= fixed


def test_a_set_of_ones_own_class_is_captured() -> None:
    explanation = check(of_ones_own_made, torch.ones(3))
    assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)


@pytest.mark.parametrize("kind", [Bag, Ordered])
@pytest.mark.parametrize("items", [(), (1, 2, 3), (64, 8, 16, 1)])
def test_a_set_of_ones_own_class_that_existed_is_captured(kind: Any, items: Any) -> None:
    explanation = check(of_ones_own_that_existed, torch.ones(3), kind(items), Fixed(items[1:]))
    assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)


class Passing(set[Any]):
    """What asks it for its elements is not told which it has."""

    def __iter__(self) -> Any:
        return iter((7,))

    def __len__(self) -> int:
        return 1

    def __contains__(self, item: Any) -> bool:
        return item == 7


def is_asked(x: Any, given: Any) -> Any:
    made = set(given), {3} | given, given | {3}, frozenset(given), sorted(given), 3 in given
    return x + len(given), made, given == {1, 2}, {1} <= given


def test_what_a_set_holds_is_read_past_the_methods_of_its_class() -> None:
    given = Passing([1, 2])
    check(is_asked, torch.ones(3), given)
    set.add(given, 3)
    check(is_asked, torch.ones(3), given)
