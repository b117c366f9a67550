"""What is let go of ends when it ends in eager: its `__del__` sees, and changes, what there is
at that moment, wherever it was held."""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native

pytestmark = pytest.mark.evaluator_out

X = torch.ones(2)
log: list[object] = []
of_module: Any = None


class Ends:
    """Says that it ends, in a list that the program changes, too."""

    def __init__(self, name: object) -> None:
        self.name = name

    def __del__(self) -> None:
        log.append(self.name)


class Holds:
    """Has attributes."""

    of_class: Any = None

    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)


class Slot:
    """Has one slot."""

    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held


def replaces_a_global(x: torch.Tensor, _: object) -> torch.Tensor:
    global of_module
    y = x + 1
    of_module = 5
    log.append("replaced")
    return y * 2


def _in_a_global(thing: object) -> None:
    global of_module
    of_module = thing


def replaces_an_attribute_of_a_class(x: torch.Tensor, _: object) -> torch.Tensor:
    y = x + 1
    Holds.of_class = None
    log.append("replaced")
    return y * 2


def _in_a_class(thing: object) -> None:
    Holds.of_class = thing


def replaces_an_attribute(x: torch.Tensor, owner: Any) -> torch.Tensor:
    y = x + 1
    owner.held = None
    log.append("replaced")
    return y * 2


def deletes_an_attribute(x: torch.Tensor, owner: Any) -> torch.Tensor:
    y = x + 1
    del owner.held
    log.append("replaced")
    return y * 2


def replaces_an_item(x: torch.Tensor, items: Any) -> torch.Tensor:
    y = x + 1
    items[0] = None
    log.append("replaced")
    return y * 2


def clears(x: torch.Tensor, items: Any) -> torch.Tensor:
    y = x + 1
    items.clear()
    log.append("replaced")
    return y * 2


def keeps_one(x: torch.Tensor, items: Any) -> torch.Tensor:
    y = x + 1
    items &= {1}
    log.append("replaced")
    return y * 2


def makes_longer(x: torch.Tensor, items: Any) -> torch.Tensor:
    y = x + 1
    items[:1] = [2, 3]
    log.append("replaced")
    return y * 2


def _tensor(thing: object) -> torch.Tensor:
    tensor: Any = torch.ones(2)
    tensor.held = thing
    return tensor


def _module(thing: object) -> torch.nn.Module:
    module: Any = torch.nn.Linear(2, 2)
    module.held = thing
    return module


def _python_module(thing: object) -> types.ModuleType:
    module: Any = types.ModuleType("a_module")
    module.held = thing
    return module


_function: Any = replaces_an_attribute


def _on_a_function(thing: object) -> Any:
    _function.held = thing
    return _function


Compiled = Callable[[torch.Tensor, Any], torch.Tensor]


def _closure() -> tuple[Callable[[Any], Any], Compiled]:
    """What puts something into a variable of a closure, and what replaces it there."""
    held: object = None

    def put(thing: object) -> None:
        nonlocal held
        held = thing

    def replaces(x: torch.Tensor, _: object) -> torch.Tensor:
        nonlocal held
        y = x + 1
        held = None
        log.append("replaced")
        return y * 2

    return put, replaces


CASES: dict[str, tuple[Callable[[Any], Any], Compiled]] = {
    "variable of a closure": _closure(),
    "global": (_in_a_global, replaces_a_global),
    "class": (_in_a_class, replaces_an_attribute_of_a_class),
    "object": (lambda thing: Holds(held=thing), replaces_an_attribute),
    "object, deleted": (lambda thing: Holds(held=thing), deletes_an_attribute),
    "slot": (Slot, replaces_an_attribute),
    "slot, deleted": (Slot, deletes_an_attribute),
    "tensor": (_tensor, replaces_an_attribute),
    "module": (_module, replaces_an_attribute),
    "module, deleted": (_module, deletes_an_attribute),
    "module of Python's": (_python_module, replaces_an_attribute),
    "function": (_on_a_function, replaces_an_attribute),
    "list": (lambda thing: [thing], replaces_an_item),
    "list, cleared": (lambda thing: [thing], clears),
    "list that becomes longer": (lambda thing: [thing], makes_longer),
    "value": (lambda thing: {0: thing}, replaces_an_item),
    "value, cleared": (lambda thing: {0: thing}, clears),
    "key, cleared": (lambda thing: {thing: 0}, clears),
    "default": (lambda thing: defaultdict(int, {0: thing}), replaces_an_item),
    "in order": (lambda thing: OrderedDict({0: thing}), replaces_an_item),
    "queue": (lambda thing: deque([thing]), replaces_an_item),
    "queue, cleared": (lambda thing: deque([thing]), clears),
    "set, cleared": (lambda thing: {thing}, clears),
    "set of which one is kept": (lambda thing: {thing, 1}, keeps_one),
}


def told(function: Compiled, make: Callable[[Any], Any]) -> list[object]:
    """What the program and what ends say, in turn, of five calls; what ends does so from the third
    on, so that what was captured before has to notice."""
    log.clear()
    for call in range(5):
        owner = make(Ends(call) if call > 1 else call)
        function(X, owner)
        del owner
        log.append("called")
    return [*log]


@pytest.mark.parametrize("name", CASES)
def test_what_is_let_go_of_ends_at_once(name: str) -> None:
    make, function = CASES[name]
    expected = told(function, make)
    assert 4 in expected
    assert told(native.optimize("eager")(function), make) == expected
