"""Weak references that compiled code makes: they die when their objects do in eager."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook

from stepper import native
from tests.engines.native.harness import check, run_graph


class Thing:
    me: Any = None

    def __init__(self, a: Any = 1) -> None:
        self.a = a


ref: Any = weakref.ref
KEPT = Thing(5)
LINEAR = torch.nn.Linear(3, 3)


def called(x: Any) -> Any:
    thing = Thing(3)
    reference = ref(thing)
    return x + reference().a, reference() is thing


def existing(x: Any) -> Any:
    return x + ref(KEPT, None)().a


def of_tensor(x: Any) -> Any:
    y = x + 1
    reference = ref(y)
    y += 1
    return reference() + 1, reference() is y


def stored(x: Any) -> Any:
    child, parent = Thing(), Thing()
    parent.a, child.a = [child], ref(parent)
    return x + len(child.a().a), type(child.a) is weakref.ref


def of_itself(x: Any) -> Any:
    return x + ref(of_itself)().__code__.co_argcount


def of_function(x: Any) -> Any:
    def inner() -> int:
        return 2

    return x + ref(inner)()()


def added_and_removed(x: Any) -> Any:
    module = torch.nn.Identity()
    handle = module.register_forward_hook(lambda module, args, out: out + 1)
    y = module(x)
    handle.remove()
    return y + module(x), len(module._forward_hooks)


@pytest.mark.parametrize(
    "f", [called, existing, of_tensor, stored, of_itself, of_function, added_and_removed]
)
def test_an_object_that_is_held_is_captured(f: Callable[[Any], Any]) -> None:
    assert not check(f, torch.ones(3)).graph_break_count


def deleted(x: Any) -> Any:
    thing = Thing(3)
    reference = ref(thing)
    y = x + thing.a
    del thing
    return y, reference() is None


def never_held(x: Any) -> Any:
    return x + 1, ref(Thing())() is None


def dead_with_its_function(x: Any) -> Any:
    def make() -> Any:
        thing = Thing()
        return ref(thing)

    return x + 1, make()() is None


def taken_out(x: Any) -> Any:
    things, other = [Thing(3)], Thing(Thing(4))
    first, second = ref(things[0]), ref(other.a)
    y = x + first().a + second().a
    things.clear()
    other.a = None
    return y, first() is None, second() is None


def rebound(x: Any) -> Any:
    y = x + 1
    reference = ref(y)
    y = y + 1
    return y, reference() is None


def in_a_cycle(x: Any) -> Any:
    thing = Thing()
    thing.a = thing
    reference = ref(thing)
    del thing
    return x + 1, reference() is None


def held_by_a_cycle(x: Any) -> Any:
    thing, other = Thing(), Thing()
    other.a, other.me = thing, other
    reference = ref(thing)
    del thing, other
    return x + 1, reference() is None


def held_by_a_traceback(x: Any) -> Any:
    found = []

    def fail() -> None:
        thing = Thing()
        found.append(ref(thing))
        raise ValueError

    try:
        fail()
    except ValueError as error:
        kept = error
    return x + 1, found[0]() is None, kept.__traceback__ is None


def given_up_by_an_iterator(x: Any) -> Any:
    things = iter([Thing(3)])
    reference = ref(next(things))
    before = reference() is None
    for _ in things:
        pass
    return x + 1, before, reference() is None


def method(x: Any) -> Any:
    return x + 1, ref(LINEAR.forward)() is None


def counted(x: Any) -> Any:
    thing = Thing()
    reference = ref(thing)  # noqa: F841  # it is counted
    return x + weakref.getweakrefcount(thing)


def impossible(x: Any) -> Any:
    try:
        ref(3)
    except TypeError as error:
        return x + 1, str(error)


def alike(x: Any) -> Any:
    return x + 1, ref(KEPT) is ref(KEPT), ref(KEPT) == ref(KEPT)


def held_by_what_is_not_read(x: Any) -> Any:
    things, pair, deeper = [Thing()], (Thing(), 1), {"a": [Thing(Thing())]}
    told: list[Any] = []
    kept = [ref(things[0], told.append), ref(pair[0], told.append)]
    kept.append(ref(deeper["a"][0].a, told.append))
    x = x + 1
    return x, [each() is None for each in kept], len(told)


def held_by_an_iterator(x: Any) -> Any:
    things: Any = iter([Thing(), Thing()])
    reference = torch._dynamo.disable(ref)(next(things))
    return x + 1, reference() is None, things.__length_hint__()


def held_by_a_dead_cycle(x: Any) -> Any:
    def make() -> Any:
        thing, other = Thing(), Thing()
        items: list[Any] = []
        other.a, other.me = thing, other
        items += [items, Thing()]
        return thing, items[1]

    gc.disable()  # it collects cycles
    first, second = make()
    references = ref(first), ref(second)
    del first, second
    given = [each() is None for each in references]
    gc.enable()
    return x + 1, given


@pytest.mark.parametrize(
    "f",
    [
        held_by_what_is_not_read, held_by_an_iterator, held_by_a_dead_cycle, deleted, never_held,
        dead_with_its_function, taken_out, rebound, in_a_cycle,
        held_by_a_cycle, held_by_a_traceback, given_up_by_an_iterator, method, counted, impossible,
        alike,
    ],
)  # fmt: skip
def test_a_reference_is_dead_where_it_is_in_eager(f: Callable[[Any], Any]) -> None:
    check(f, torch.ones(3))


def test_what_is_returned_is_as_dead_as_in_eager() -> None:
    def f(x: Any) -> Any:
        gone, here = Thing(1), Thing(2)
        return x + 1, ref(gone), ref(here), here

    from stepper import native

    _, gone, here, thing = native.optimize("eager")(f)(torch.ones(3))
    assert gone() is None
    assert here() is thing


def by_hand(x: Any) -> Any:
    LINEAR._forward_hooks[77] = lambda module, args, out: out + 1
    y = LINEAR(x)
    del LINEAR._forward_hooks[77]
    return y + LINEAR(x)


def registered(x: Any) -> Any:
    handle = LINEAR.register_forward_hook(lambda module, args, out: out + 1)
    y = LINEAR(x)
    handle.remove()
    return y + LINEAR(x)


def before_the_call(x: Any) -> Any:
    with LINEAR.register_forward_pre_hook(lambda module, args: (args[0] + 1,)):
        y = LINEAR(x)
    return y + LINEAR(x)


def of_all_modules(x: Any) -> Any:
    with register_module_forward_hook(lambda module, args, out: out + 1):
        y = LINEAR(x)
    return y + LINEAR(x)


@pytest.mark.parametrize("f", [by_hand, registered, before_the_call, of_all_modules])
def test_a_hook_that_the_frame_adds_is_called(f: Callable[[Any], Any]) -> None:
    check(f, torch.ones(3))


class Ending(Thing):
    def __del__(self) -> None:
        LOG.append("ended")


LOG: list[Any] = []


def told(thing: Any) -> Any:
    """A weak reference that says when its object dies."""
    return ref(thing, lambda reference: LOG.append("dead"))


def local_deleted(x: Any) -> Any:
    thing, other, y = Ending(), Thing(), x + 1
    reference = told(other)  # noqa: F841  # it tells as long as it is there
    LOG.append("made")
    del thing
    y = y * 2
    LOG.append("between")
    del other
    LOG.append("after")
    return y


def local_set_anew(x: Any) -> Any:
    thing: Any = Ending()
    for step in range(2):
        other = Thing()
        reference = told(other)
        x = x + step
        LOG.append(step)
    thing = reference = None  # noqa: F841  # it lets go
    LOG.append("after")
    return x


def tensor_deleted(x: Any) -> Any:
    y = x + 1
    reference = weakref.finalize(y, LOG.append, "dead")  # noqa: F841  # it tells
    z = y * 2
    LOG.append("made")
    del y
    LOG.append("after")
    return z


def never_stored(x: Any) -> Any:
    torch._dynamo.disable(Ending)()
    LOG.append("after")
    return x + 1


def out_of_a_container(x: Any) -> Any:
    holder, things, named = Thing(Ending()), [Thing()], {1: Ending()}
    references = [told(things[0])]
    LOG.append("made")
    holder.a = None
    LOG.append("between")
    things.pop()
    x = x + len(references)
    LOG.append("still")
    del named[1]
    LOG.append("after")
    return x


@pytest.mark.parametrize(
    "f", [local_deleted, local_set_anew, tensor_deleted, never_stored, out_of_a_container]
)
def test_what_runs_when_an_object_dies_runs_in_its_turn(f: Callable[[Any], Any]) -> None:
    def logged(x: Any) -> Any:
        return torch._dynamo.disable(begin)(), f(x), torch._dynamo.disable(LOG.copy)()

    check(logged, torch.ones(3))


def begin() -> None:
    LOG.clear()


BY_OBJECT = weakref.WeakKeyDictionary({KEPT: 3, Thing: 4})
BY_NAME = weakref.WeakValueDictionary({"kept": KEPT})
AMONG = weakref.WeakSet([KEPT, Thing])


def looked_up(x: Any) -> Any:
    found = BY_OBJECT[KEPT], BY_OBJECT[Thing], BY_OBJECT.get(LINEAR, 5), BY_NAME["kept"].a
    held = KEPT in BY_OBJECT, LINEAR in BY_OBJECT, "none" in BY_NAME, KEPT in AMONG, LINEAR in AMONG
    return x * sum(found), held, BY_NAME.get("none"), BY_NAME["kept"] is KEPT


def test_what_is_held_weakly_is_found_in_one_graph() -> None:
    assert not check(looked_up, torch.ones(3)).graph_break_count


def asks(x: Any, table: Any, one: Any, other: Any) -> Any:
    return x + table.get(one, 1) * 10 + table.get(other, 2), one in table, other in table


def test_what_is_held_weakly_is_asked_at_each_call() -> None:
    things = [Thing(), Thing(), Thing]
    captured = native.optimize(run_graph)(asks)
    x = torch.ones(2)
    for places in ((), (0,), (1,), (0, 1), (2, 0), (0,), (0, 1, 2)):
        table = weakref.WeakKeyDictionary({things[place]: place + 3 for place in places})
        dying = Thing()
        table[dying] = 7
        for one, other in ((0, 1), (1, 0), (0, 0), (2, 1)):
            given = x, table, things[one], things[other]
            assert str(captured(*given)) == str(asks(*given))
        del dying
        assert str(captured(x, table, *things[:2])) == str(asks(x, table, *things[:2]))


def lets_go(x: Any, things: list[Any], table: Any) -> Any:
    before = things[0] in table
    things.clear()
    return x + 1, before, len(table), [*table.values()]


def lets_go_and_counts(x: Any, things: list[Any], table: Any) -> Any:
    before = things[0] in table
    things.clear()
    return x + 1, before, len(table), []


def lets_go_before_it_looks(x: Any, things: list[Any], table: Any) -> Any:
    things.clear()
    return x + 1, len(table), [*table]


@pytest.mark.parametrize("program", [lets_go, lets_go_and_counts, lets_go_before_it_looks])
def test_what_is_let_go_is_held_weakly_no_more(program: Any) -> None:
    for function in (program, native.optimize(run_graph)(program)):
        for _ in range(2):
            things = [Thing()]
            table = weakref.WeakKeyDictionary({things[0]: 3})
            assert str(function(torch.ones(1), things, table)[-2:]) == "(0, [])"


def refuses(graph: Any, inputs: Any) -> Any:
    raise ValueError("refused")


class Halves(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        torch._dynamo.graph_break()
        return self.second(x)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (torch.nn.Linear(3, 3), {"backend": "eager"}),
        (torch.nn.Linear(3, 3), {"backend": "eager", "dynamic": True}),
        (torch.nn.Linear(3, 3), {"backend": refuses}),
        (Halves(), {"backend": "eager"}),
        (Halves(), {"backend": "eager", "nopython": True}),
    ],
)
def test_parameters_can_be_swapped_after_a_translation(model: Any, options: Any) -> None:
    compiled = native.optimize(**options)(model)
    with contextlib.suppress(Exception):  # refused, or not one graph
        compiled(torch.ones(2, 3))
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        model.to(torch.float64)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
    assert {each.dtype for each in model.parameters()} == {torch.float64}
