"""Whatever a capture depends on is noticed when it changes, and nothing else captures anew.

One world of values, a function for each kind of dependency, and for each kind the change that must
be noticed. Changes of all kinds to what no function looks at must not be.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import _C, native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

KNOB = 2
OTHER_KNOB = 2


class Thing:
    def __init__(self) -> None:
        self.scale = 2
        self.other = 2


class World:
    """What a function is called with, and under what."""

    def __init__(self) -> None:
        self.x = torch.ones(3)
        self.unused = torch.ones(3)
        self.thing = Thing()
        self.table: dict[str, Any] = {"a": 1, "b": 2}
        self.items: list[Any] = [1, 2]
        self.value: Any = 2
        self.unused_value: Any = 2
        self.amount = 2
        self.other_amount = 2
        self.grad = True
        self.backend: Any = run_graph

        def helper(v: torch.Tensor, by: int = 3) -> torch.Tensor:
            return v * by

        def other_helper(v: torch.Tensor, by: int = 3) -> torch.Tensor:
            return v * by

        self.helper, self.other_helper = helper, other_helper

    def arguments(self) -> tuple[Any, ...]:
        return (
            self.x, self.unused, self.thing, self.table, self.items, self.value,
            self.unused_value, self.helper, self.other_helper,
        )  # fmt: skip


def of_a_tensor(world: World) -> Any:
    return lambda x, *rest: x * 2


def of_an_attribute(world: World) -> Any:
    return lambda x, unused, thing, *rest: x * thing.scale


def of_a_global(world: World) -> Any:
    return lambda x, *rest: x * KNOB


def of_a_closure(world: World) -> Any:
    amount, other_amount = world.amount, world.other_amount

    def f(x: torch.Tensor, *rest: Any) -> Any:
        return x * amount if rest else x * other_amount

    def turn(name: str, value: int) -> None:
        nonlocal amount, other_amount
        if name == "amount":
            amount = value
        else:
            other_amount = value

    f.turn = turn  # type: ignore[attr-defined]  # set as programs set it
    return f


def of_a_default(world: World) -> Any:
    return lambda x, unused, thing, table, items, value, unused_value, helper, other: helper(x)


def of_dict_keys(world: World) -> Any:
    return lambda x, unused, thing, table, *rest: (x * 2, [*table])


def of_a_lists_length(world: World) -> Any:
    return lambda x, unused, thing, table, items, *rest: x * len(items)


def of_a_type(world: World) -> Any:
    return lambda x, unused, thing, table, items, value, *rest: (
        x * 3 if isinstance(value, float) else x * 2
    )


def change(**fields: Any) -> Callable[[World, Any], None]:
    """A change of fields of the world."""
    return lambda world, function: vars(world).update(fields)


def set_global(name: str) -> Callable[[World, Any], None]:
    return lambda world, function: globals().__setitem__(name, 3)


def add_key(world: World, function: Any) -> None:
    world.table = {**world.table, "c": 3}


def other_backend(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
    return gm.forward


Kind = tuple[Callable[[World], Any], Callable[[World, Any], None], str]

KINDS: dict[str, Kind] = {
    "dtype": (of_a_tensor, change(x=torch.ones(3).double()), "___check_tensors(L['x'])"),
    "shape": (of_a_tensor, change(x=torch.ones(4)), "___check_tensors(L['x'])"),
    "device": (of_a_tensor, change(x=torch.ones(3, device="meta")), "___check_tensors(L['x'])"),
    "requires_grad": (
        of_a_tensor, change(x=torch.ones(3, requires_grad=True)), "___check_tensors(L['x'])",
    ),
    "attribute": (
        of_an_attribute, lambda world, function: setattr(world.thing, "scale", 3),
        "L['thing'].scale == 2",
    ),
    "global": (of_a_global, set_global("KNOB"), "G['KNOB']"),
    "closure": (of_a_closure, lambda world, function: function.turn("amount", 3), "L['amount']"),
    "default": (
        of_a_default, lambda world, function: setattr(world.helper, "__defaults__", (4,)),
        "L['helper'].__defaults__[0]",
    ),
    "dict key": (of_dict_keys, add_key, "L['table']"),
    "list length": (of_a_lists_length, change(items=[1, 2, 3]), "len(L['items'])"),
    "type": (of_a_type, change(value=2.0), "___check_type_id(L['value']"),
    "grad mode": (of_a_tensor, change(grad=False), "___check_global_state()"),
    "backend": (of_a_tensor, change(backend=other_backend), "___lookup_backend("),
}  # fmt: skip
"""For each kind: who depends on it, the change, and the guard that tells."""

UNRELATED: dict[str, Callable[[World, Any], None]] = {
    "dtype": change(unused=torch.ones(3).double()),
    "shape": change(unused=torch.ones(4, 4)),
    "device": change(unused=torch.ones(3, device="meta")),
    "requires_grad": change(unused=torch.ones(3, requires_grad=True)),
    "attribute": lambda world, function: setattr(world.thing, "other", 3),
    "new attribute": lambda world, function: setattr(world.thing, "more", 3),
    "another object": change(thing=Thing()),
    "global": set_global("OTHER_KNOB"),
    "default": lambda world, function: setattr(world.other_helper, "__defaults__", (4,)),
    "dict value": change(table={"a": 7, "b": object()}),
    "list items": change(items=[object(), 5]),
    "type": change(unused_value=2.0),
    "data": change(x=torch.full((3,), 5.0)),
}
"""Changes to what no function looks at."""


@pytest.fixture(autouse=True)
def globals_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put back what the changes do to this module."""
    for name in ("KNOB", "OTHER_KNOB"):
        monkeypatch.setitem(globals(), name, 2)


def call(world: World, function: Any) -> Any:
    with torch.set_grad_enabled(world.grad):
        return native.optimize(world.backend)(function)(*world.arguments())


def count(function: Any) -> int:
    return len(_C.code_cache(function.__code__).entries)


def failing(world: World, function: Any) -> list[str]:
    """The guards of the only entry that fail for a call now."""
    code = function.__code__
    values = world.arguments()
    f_locals = dict(zip(code.co_varnames, values, strict=False))
    if code.co_flags & 4:
        named = code.co_argcount
        f_locals = dict(zip(code.co_varnames[:named], values, strict=False))
        f_locals[code.co_varnames[named]] = values[named:]
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    f_locals.update((name, cell.cell_contents) for name, cell in cells)
    entry: Any
    (entry,) = _C.code_cache(code).entries
    with torch.set_grad_enabled(world.grad), native.optimize(world.backend):
        return [str(part) for part, check in entry.manager.parts if not check(f_locals, globals())]


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_is_noticed_and_told(kind: str) -> None:
    make, apply, guard = KINDS[kind]
    world = World()
    function = make(world)
    call(world, function)
    assert count(function) == 1
    before = function(*world.arguments())
    apply(world, function)
    (told,) = failing(world, function)
    assert guard in told
    expected = function(*world.arguments())
    assert repr(call(world, function)) == repr(expected) or not world.grad
    assert count(function) == 2
    call(world, function)
    assert count(function) == 2
    assert kind in ("grad mode", "backend", "type") or repr(before) != repr(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_else_captures_anew(kind: str) -> None:
    world = World()
    function = KINDS[kind][0](world)
    call(world, function)
    for name, apply in UNRELATED.items():
        apply(world, function)
        expected = function(*world.arguments())
        assert repr(call(world, function)) == repr(expected), name
        assert count(function) == 1, name


def test_another_variable_of_the_closure_captures_nothing_anew() -> None:
    world = World()
    function = of_a_closure(world)
    call(world, function)
    function.turn("other_amount", 9)
    call(world, function)
    assert count(function) == 1


def test_a_backend_lives_no_longer_than_what_was_captured_for_it() -> None:
    class Backend:
        def __call__(self, gm: Any, example_inputs: list[Any]) -> Any:
            return gm.forward

    backend = Backend()
    captured = native.optimize(backend)(lambda x: x + 1)
    captured(torch.ones(3))
    alive = weakref.ref(backend)
    del backend, captured
    native.reset()
    gc.collect()
    assert alive() is None
