"""Objects of Python that Dynamo has no model of: namespaces, decimals, metaclasses, ranges."""

from __future__ import annotations

import contextlib
import copy
import decimal
import types
from dataclasses import asdict, dataclass
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-break",
    cause=("Unsupported function call", "types.SimpleNamespace"),
    advice="take an object of a plain class, a dataclass or a dict in its place",
    counts=(2, 1),
)  # fmt: skip
def namespace_made_inside(run: Run) -> None:
    class Options:
        def __init__(self, scale: int) -> None:
            self.scale = scale

    @run.compile
    def scaled(x: Any) -> Any:
        x = x + 1
        options = Options(2) if run.remedied else types.SimpleNamespace(scale=2)  # cause
        return x * options.scale

    scaled(ones(2))


@case(
    "", "why-break",
    cause=("Unsupported method call", "`__setattr__` of class `SimpleNamespace`"),
    advice="have it be an object of a plain class, whose attributes are followed",
    counts=(2, 1),
    never=("call the method outside",),
)  # fmt: skip
def attribute_of_a_namespace(run: Run) -> None:
    class Options:
        scale = 2

    @run.compile
    def scaled_once_more(x: Any, options: Any) -> Any:
        x = x + 1
        options.scale = 3  # cause
        return x * options.scale

    scaled_once_more(ones(2), Options() if run.remedied else types.SimpleNamespace(scale=2))


@case(
    "", "why-break",
    cause="vectorcall_maybe on C method descriptor",
    advice="the compiler has no model of what the line does with the object: do it before",
    counts=(0, 1),
)  # fmt: skip
def decimal_in_the_middle(run: Run) -> None:
    @run.compile
    def priced(x: Any, price: Any) -> Any:
        x = x + 1
        total = price if run.remedied else price + 1  # cause
        return x * float(total)

    priced(ones(2), 3.0 if run.remedied else decimal.Decimal(2))


@case(
    "", "why-break",
    cause="User-defined object with non-function __getattr__",
    advice="define __getattr__ in Python",
    counts=(0, 1),
)  # fmt: skip
def keys_as_attributes(run: Run) -> None:
    class Config(dict):  # type: ignore[type-arg]  # as programs write it
        __getattr__ = dict.__getitem__

    class Remedied(dict):  # type: ignore[type-arg]
        def __getattr__(self, name: str) -> Any:
            return self[name]

    @run.compile
    def scaled(x: Any, config: Any) -> Any:
        return (x + 1) * config.scale  # cause

    scaled(ones(3), (Remedied if run.remedied else Config)(scale=2))


@case(
    "pytorch#196172", "why-break",
    cause="Failed to convert args/kwargs to proxy",
    advice="pass a tensor or a number instead",
    counts=(1, 1),
)  # fmt: skip
def sliced_by_an_object(run: Run) -> None:
    """The program raises nothing without torch.compile."""

    class Position:
        def __index__(self) -> int:
            return 2

    place = Position()

    @run.compile
    def upto(x: Any) -> Any:
        x = x * 2
        return x[: 2 if run.remedied else place] + 1  # cause

    with contextlib.suppress(TypeError):
        upto(ones(4))


@case(
    "", "why-break",
    cause="raised exception AttributeError",
    advice="without the __call__ of its class's class, Counted",
    counts=(0, 1),
)  # fmt: skip
def made_by_its_metaclass(run: Run) -> None:
    class Counted(type):
        def __call__(cls, *args: Any) -> Any:
            made = super().__call__(*args)
            made.parts = 2
            return made

    class Plan(metaclass=Counted):
        parts: int

    globals()["Plan"] = Plan  # as a class of a module is

    @run.compile
    def scaled(x: Any, plan: Any) -> Any:
        plan = plan or Plan()
        return x * plan.parts  # cause

    scaled(ones(3), Plan() if run.remedied else None)


@case(
    "", "why-break",
    cause=("Unsupported python_type() call", "gives up"),
    advice="hand over a list of it, or the number, with range() inside",
    counts=(1, 2),
)  # fmt: skip
def gone_through_a_range(run: Run) -> None:
    @run.compile
    def summed(x: Any, rounds: Any) -> Any:
        for each in rounds:  # cause
            x = x + each
        return x

    for rounds in (range(2), range(3)):
        summed(ones(2), list(rounds) if run.remedied else rounds)


@dataclass
class State:
    """What is handed on from step to step."""

    x: Any
    count: int


@case(
    "", "why-break",
    cause="Attempted to copy.deepcopy a tensor",
    advice="take what `return asdict(state)",
    counts=(2, 1),
    never=("copy before the compiled function",),
)  # fmt: skip
def fields_as_a_dict(run: Run) -> None:
    @run.compile
    def counted_on(state: Any) -> Any:
        state.x = state.x * 2
        if run.remedied:
            return vars(state)["x"] + state.count
        return asdict(state)["x"] + state.count  # cause

    counted_on(copy.copy(State(torch.ones(2), 1)))
