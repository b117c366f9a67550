"""Programs of guards: what is refused, and what is held."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import pytest

from stepper import _C

ROOT = (_C.STEP_LOCALS, 0, None)
ITEM = (_C.STEP_ITEM, 0, "x")


class Thing:
    """Has an attribute."""

    def __init__(self) -> None:
        self.number = 3


def program(
    values: list[Any], conditions: list[Any], scope: dict[str, Any] | None = None
) -> _C.GuardProgram:
    return _C.GuardProgram(values, conditions, scope if scope is not None else {})


@pytest.mark.parametrize(
    "value",
    [
        (-1, 0, None),
        (1000, 0, None),
        (_C.STEP_ATTR, 1, "itself"),
        (_C.STEP_ATTR, -1, "name"),
        (_C.STEP_ATTR, 0, 3),
        (_C.STEP_CALL, 0, (1,)),
        (_C.STEP_CALL, 0, [0]),
        (_C.STEP_CALL, 1, (0,)),
    ],
)
def test_a_value_that_leads_nowhere_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="value 1"):
        program([ROOT, value], [])


@pytest.mark.parametrize(
    "condition",
    [
        (-1, 0, None),
        (1000, 0, None),
        (_C.TEST_TRUE, 1, None),
        (_C.TEST_TRUE, -1, None),
        (_C.TEST_OBJ_ID, 0, "no id"),
        (_C.TEST_NN_MODULE, 0, 1),
        (_C.TEST_LACKS_ATTR, 0, 1),
        (_C.TEST_FLOAT, 0, 1),
        (_C.TEST_KEYS, 0, ("a",)),
        (_C.TEST_SAME, 0, 7),
        (_C.TEST_SAME, 0, "x"),
        (_C.TEST_CALL, 0, (0, 1)),
        (_C.TEST_CALL, 0, [0]),
        (_C.TEST_CALL, 0, (1 << 80,)),
        (_C.TEST_PYTHON, -1, None),
    ],
)
def test_a_condition_that_asks_nothing_is_refused(condition: Any) -> None:
    with pytest.raises(ValueError, match="condition 0"):
        program([ROOT], [condition])


@pytest.mark.parametrize(
    "kinds",
    [
        (_C.TEST_EITHER,),
        (_C.TEST_EITHER, _C.TEST_TRUE),
        (_C.TEST_EITHER, _C.TEST_EITHER, _C.TEST_TRUE, _C.TEST_TRUE),
        (_C.TEST_EITHER, _C.TEST_TRUE, _C.TEST_EITHER, _C.TEST_TRUE, _C.TEST_TRUE),
    ],
)
def test_alternatives_that_are_not_two_are_refused(kinds: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="two alternatives are wanted"):
        program([ROOT], [(kind, 0, None) for kind in kinds])


@pytest.mark.parametrize("args", [(), ({},), ({}, {}, {}), ({}, None), (None, {})])
def test_a_check_wants_locals_and_globals(args: Any) -> None:
    with pytest.raises(TypeError, match="locals and the globals"):
        program([], [])(*args)


def test_no_condition_always_holds() -> None:
    assert program([], [])({}, {}) is True


def test_an_error_says_no_and_leaves_none_behind() -> None:
    checked = program([ROOT, ITEM], [(_C.TEST_LENGTH, 1, 3)])
    assert checked({}, {}) is False
    assert checked({"x": 7}, {}) is False
    assert checked({"x": "abc"}, {}) is True


def test_a_check_holds_what_it_looks_at_no_longer_than_it_runs() -> None:
    thing = Thing()
    values = [ROOT, ITEM, (_C.STEP_ATTR, 1, "number"), (_C.STEP_CLASS, 1, None)]
    conditions = [
        (_C.TEST_EQUALS, 2, 3),
        (_C.TEST_TYPE_ID, 1, id(Thing)),
        (_C.TEST_OBJ_ID, 3, id(Thing)),
        (_C.TEST_SAME, 1, 1),
    ]
    check = program(values, conditions)
    f_locals = {"x": thing}
    before = sys.getrefcount(thing), sys.getrefcount(Thing)
    for _ in range(100):
        assert check(f_locals, {})
        assert not check({}, {})
    assert (sys.getrefcount(thing), sys.getrefcount(Thing)) == before


def test_a_cycle_through_its_scope_is_collected() -> None:
    scope: dict[str, Any] = {}
    thing = scope["thing"] = Thing()
    scope["check"] = program([(_C.STEP_SCOPE, 0, "thing")], [(_C.TEST_TRUE, 0, None)], scope)
    died = weakref.ref(thing)
    del thing, scope
    gc.collect()
    assert died() is None


def test_what_a_check_looks_at_may_end_while_it_is_looked_at() -> None:
    class Clearing:
        def __eq__(self, other: object) -> bool:
            f_locals.clear()
            gc.collect()
            return True

        __hash__ = None  # type: ignore[assignment]  # how a class says that it has none

    f_locals: dict[str, Any] = {"x": Clearing()}
    check = program([ROOT, ITEM], [(_C.TEST_EQUALS, 1, 3), (_C.TEST_TRUE, 1, None)])
    assert check(f_locals, {}) is True
    assert check(f_locals, {}) is False
