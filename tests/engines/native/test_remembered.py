"""A check compares with what it found at its last look (csrc/evalframe/remembered.c): whatever is
changed between two looks is seen, as one who looks anew sees it."""

from __future__ import annotations

import contextlib
import gc
import random
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

from stepper import _C
from stepper.native.guards.guard_program import check_of
from stepper.native.guards.scope import SCOPE
from tests.engines.native.test_guard_program import evaluated

TEXTS = [
    "L['x'].number == 3",
    "L['x'].number == 4",
    "L['x'].number == 3 or L['x'].number == 4",
    "hasattr(L['x'], 'number') == False",
    "not hasattr(type(L['x']), 'number')",
    "'number' in ___instance_dict(L['x'])",
    "'number' not in ___instance_dict(L['x'])",
    "___instance_dict(L['x'])['number'] == 3",
    "type(L['x']).number == 3",
    "L['x'].__class__ is type(L['x'])",
    "type(L['x']).method is G['method']",
    "type(L['x']).method.__func__ is G['method']",
    "type(L['x']).method.__code__ is G['code']",
    "L['x'].method.__code__ is G['code']",
    "L['x'].inner.number == 3",
    "L['x'].inner is L['x']",
    "list(___instance_dict(L['x'])) == ['number']",
    "list(___instance_dict(L['x'])) == ['number', 'inner']",
    "G['number'] == 3",
    "'number' in G",
    "___check_nn_module(L['x'], True)",
    "___check_nn_module(L['x'], False)",
    "len(___instance_dict(L['x'])) == 1",
]


def method(self: object) -> int:
    return 1


def another(self: object) -> int:
    return 2


class World:
    """Objects and classes, and what can become of them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.base = type("Base", (), {"__module__": __name__})
        self.classes = [
            type("One", (self.base,), {"method": method}),
            type("Other", (self.base,), {"number": 3}),
            type("Slotted", (self.base,), {"__slots__": ("number", "inner")}),
        ]
        module = type("Module", (torch.nn.Module,), {"method": method})
        meta = type("Meta", (type,), {})
        self.classes += [module, meta("OfAMeta", (self.base,), {"method": method})]
        self.objects = [cls() for cls in self.classes for _ in range(2)]
        names = types.ModuleType("names")
        self.objects += [names, *self.classes]
        self.f_locals: dict[str, Any] = {"x": self.objects[0]}
        self.f_globals: dict[str, Any] = {"method": method, "code": method.__code__, "number": 3}

    def change(self) -> None:
        """Do something, if it can be done."""
        changes: list[Callable[[], Any]] = [
            self.own, self.own, self.of_a_class, self.look_elsewhere, self.look_elsewhere,
            self.become, self.fields, self.hooks, self.mode, self.code, self.of_globals,
        ]  # fmt: skip
        with contextlib.suppress(AttributeError, TypeError, KeyError):
            self.chance.choice(changes)()

    def some(self) -> Any:
        return self.chance.choice(self.objects)

    def put(self, where: Any, name: str, value: Any) -> None:
        if self.chance.random() < 0.3:
            delattr(where, name)
        else:
            setattr(where, name, value)

    def own(self) -> None:
        name, value = self.chance.choice([("number", 3), ("number", 4), ("inner", self.some())])
        self.put(self.chance.choice([self.f_locals["x"], self.some()]), name, value)

    def of_a_class(self) -> None:
        ways = [
            ("number", 3), ("number", 4), ("method", method), ("method", another),
            ("method", staticmethod(method)), ("method", classmethod(method)),
            ("number", property(lambda self: 4)),
            ("__getattr__", lambda self, name: 3),
            ("__getattribute__", lambda self, name: object.__getattribute__(self, name)),
            ("__getattribute__", lambda self, name: 4 if name == "number" else method),
        ]  # fmt: skip
        self.put(self.chance.choice([self.base, *self.classes]), *self.chance.choice(ways))

    def look_elsewhere(self) -> None:
        self.f_locals["x"] = self.some()

    def become(self) -> None:
        self.f_locals["x"].__class__ = self.chance.choice(self.classes)

    def fields(self) -> None:
        thing = self.f_locals["x"]
        if self.chance.random() < 0.5:
            thing.__dict__ = dict(thing.__dict__)
        else:
            thing.__dict__.update(number=self.chance.choice([3, 4]))
        gc.collect(0)

    def hooks(self) -> None:
        fields = _C.instance_dict(self.f_locals["x"])
        name = self.chance.choice(["_forward_hooks", "_backward_pre_hooks"])
        kind = self.chance.choice([OrderedDict, dict])
        if self.chance.random() < 0.5:
            fields[name] = kind({1: print} if self.chance.random() < 0.5 else {})
        else:
            fields[name].clear()
        if self.chance.random() < 0.3:
            fields[name][0] = print

    def mode(self) -> None:
        self.f_locals["x"].training = self.chance.random() < 0.5

    def code(self) -> None:
        method.__code__ = another.__code__ if self.chance.random() < 0.3 else self.f_globals["code"]

    def of_globals(self) -> None:
        value = self.chance.choice([3, 4, None])
        if value is None:
            del self.f_globals["number"]
        else:
            self.f_globals["number"] = value


def test_each_change_is_seen() -> None:
    code = method.__code__
    scope = {**SCOPE, "___instance_dict": _C.instance_dict}
    seen: dict[str, set[bool]] = {text: set() for text in TEXTS}
    try:
        for seed in range(10):
            world = World(seed)
            checks = {text: check_of([text], scope) for text in TEXTS}
            for step in range(1500):
                world.change()
                for text, check in checks.items():
                    expected = evaluated([text], world.f_locals, world.f_globals)
                    assert check(world.f_locals, world.f_globals) is expected, (seed, step, text)
                    seen[text].add(expected)
    finally:
        method.__code__ = code
    assert all(len(answers) == 2 for answers in seen.values()), seen
