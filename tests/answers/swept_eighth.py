"""Programs of an eighth sweep, of configurations, registries, decorators and counters of the
program's own, of which an answer had a name that nobody wrote, or advice that did not help."""

from __future__ import annotations

import enum
import functools
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="next value of self.seen grows: 5, 6, 7",
    advice="call next() on it outside of the compiled function",
    counts=(3, 1),
    never=("___normalize_count_iter(self.seen) ==",),
)  # fmt: skip
def numbers_that_are_drawn(run: Run) -> None:
    class Numbered:
        def __init__(self) -> None:
            self.seen = itertools.count(5)

        def __call__(self, x: Any, number: Any = None) -> Any:
            return x + (next(self.seen) if number is None else number)  # cause

    numbered = Numbered()
    call = run.compile(numbered)
    for _ in range(3):
        call(ones(2), *([torch.tensor(next(numbered.seen))] if run.remedied else []))


class Config(dict[str, Any]):
    """A dictionary whose items are attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@case(
    "", "why-recompile",
    cause="self.config['train']['step'] grows: 2, 3, 4",
    advice="Keep self.config['train']['step'] in a tensor, where",
    counts=(3, 1),
    never=("values())[", "register_buffer"),
)  # fmt: skip
def step_within_a_config(run: Run) -> None:
    class Stepped(nn.Module):
        def __init__(self, config: Config) -> None:
            super().__init__()
            self.config = config

        def forward(self, x: Any) -> Any:
            return x * self.config.model.depth + self.config.train.step  # cause

    config = Config(model=Config(depth=2), train=Config(rate=0.1, step=2))
    stepped = run.compile(Stepped(config))
    for step in (2, 3, 4):
        config["train"]["step"] = torch.tensor(step) if run.remedied else step
        stepped(ones(2))


@case(
    "peft#2416", "why-recompile",
    cause="self.scaling['default'] changes: 1.0, 0.5",
    advice="1.0 takes an entry of its own all the same: that of the others requires "
    "self.scaling['default'] != 1.0",
    counts=(2, 1),
    never=("Ne(",),
)  # fmt: skip
def scaled_unless_by_one(run: Run) -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scaling = {"default": 0.75 if run.remedied else 1.0}

        def forward(self, x: Any) -> Any:
            scaling = self.scaling["default"]
            return x.cos() if scaling == 1 else x.cos() * scaling  # cause

    module = Scaled()
    scaled = run.compile(module, dynamic=True if run.remedied else None)
    for scaling in (None, 0.5, 0.25):
        module.scaling["default"] = scaling or module.scaling["default"]
        scaled(ones(2))


@case(
    "", "why-recompile",
    cause="group['decay'] changes: 0, 0.01",
    advice="0 takes an entry of its own all the same",
    counts=(2, 1),
    never=("is of another type",),
)  # fmt: skip
def decayed_later(run: Run) -> None:
    @run.compile
    def decayed(x: Any, group: Any) -> Any:
        decay = group["decay"]
        return x * 2 if decay == 0 else x * 2 - decay  # cause

    for decay in (0.01 if run.remedied else 0, 0.01):
        decayed(ones(2), {"decay": decay})


class Meter:
    """Adds up what it is given."""

    def __init__(self) -> None:
        self.sum = 0.0

    def update(self, value: Any) -> None:
        """One more."""
        self.sum += value


@case(
    "", "why-recompile",
    cause="self.losses.sum changes: 0.0",
    advice="Dynamo has made self.losses.sum an input of the graph by itself",
    counts=(3, 2),
    never=("__self__.sum changes", "self.losses.sum is what"),
    function="forward_with_a_meter",
)  # fmt: skip
def method_left_by_a_break(run: Run) -> None:
    def forward_with_a_meter(self: Any, x: Any) -> Any:
        loss = x.sum()
        self.losses.update(loss.item())
        return loss * self.losses.sum

    class Metered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.losses = Meter()

        forward = forward_with_a_meter

    metered = run.compile(Metered(), dynamic=True if run.remedied else None)
    for _ in range(2):
        metered(ones(2) / 3)


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Count the calls of a function."""
    calls = 0

    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        return function(*args)

    return wrapper


@case(
    "", "why-recompile",
    cause="calls of self.encode grows: 0, 1, 2",
    advice="calls of self.encode is set by the compiled function itself at tests/answers/",
    counts=(3, 1),
    never=("calls of dict(type",),
    function="forward_of_the_counted",
)  # fmt: skip
def method_whose_calls_are_counted(run: Run) -> None:
    def forward_of_the_counted(self: Any, x: Any) -> Any:
        return self.encode(x) * 2

    def encode(self: Any, x: Any) -> Any:
        return x.cos()

    class Net(nn.Module):
        forward = forward_of_the_counted

    Net.encode = encode if run.remedied else counted(encode)  # type: ignore[attr-defined]  # it has
    net = run.compile(Net())
    for _ in range(3):
        net(ones(2))


@functools.singledispatch
def features(item: Any) -> Any:
    """Something as a tensor."""
    raise TypeError(type(item))


@features.register
def _(item: torch.Tensor) -> Any:
    return item * 2


@features.register(list)
def _(item: list[Any]) -> Any:
    return torch.stack(item)


@case(
    "", "why-recompile",
    cause=("type of item changes: Tensor, list", "length of dispatch_cache of features changes"),
    advice="Pass item always as the same type",
    counts=(2, 1),
    never=("features.__closure__[0].cell_contents.data changes",),
)  # fmt: skip
def dispatched_by_a_type(run: Run) -> None:
    features._clear_cache()  # type: ignore[attr-defined]  # no stub has it

    @run.compile
    def encoded(item: Any) -> Any:
        return features(item) + 1  # cause

    if run.remedied:
        features(ones(2))
    encoded(ones(2))
    encoded(ones(2) if run.remedied else [ones(2), ones(2)])


class Key:
    """Something that tables are about."""


@case(
    "", "why-recompile",
    cause="length of self.tables changes: 0, 1",
    advice="self.tables is changed by the compiled function itself at tests/answers/",
    counts=(2, 1),
    never=("self.tables.data changes", "length of self.tables.data"),
)  # fmt: skip
def table_by_a_weak_key(run: Run) -> None:
    class Tabled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables: Any = weakref.WeakKeyDictionary()

        def forward(self, x: Any, key: Any) -> Any:
            if key not in self.tables:
                self.tables[key] = 2  # cause
            return x * self.tables[key]

    key, module = Key(), Tabled()
    tabled = run.compile(module)
    if run.remedied:
        module.tables[key] = 2
    tabled(ones(2), key)
    tabled(ones(2), key)


@case(
    "", "why-recompile",
    cause="length of options changes: 0, 1",
    advice="give it the same keyword arguments in each call",
    counts=(2, 1),
    never=("options always with as many elements",),
)  # fmt: skip
def options_by_another_name(run: Run) -> None:
    def attention(x: Any, *, scale: float = 2.0) -> Any:
        return x * scale

    @run.compile
    def block(x: Any, **options: Any) -> Any:
        return x + attention(x, **options)  # cause

    block(ones(2), **({"scale": 2.0} if run.remedied else {}))
    block(ones(2), scale=2.0)


class Steps(enum.Flag):
    """What is done to an image."""

    NONE = 0
    FLIP = enum.auto()
    SHIFT = enum.auto()


@case(
    "", "why-recompile",
    cause="object of steps",
    advice="Each object that is handed over as steps is compiled by itself",
    counts=(3, 1),
    never=("made steps._value_ an input",),
)  # fmt: skip
def flags_that_are_combined(run: Run) -> None:
    @run.compile
    def changed(x: Any, steps: Any) -> Any:
        if Steps.FLIP in steps:  # cause
            x = x.flip(-1)
        return x + 1 if Steps.SHIFT in steps else x * 2

    for steps in (Steps.NONE, Steps.FLIP, Steps.FLIP | Steps.SHIFT):
        changed(ones(2), Steps.FLIP if run.remedied else steps)


@case(
    "", "why-recompile",
    cause="stride[0] of states[0] changes: 12, 4",
    advice="is put there by the compiled function itself at tests/answers/",
    counts=(3, 2),
    never=("hand over states[0]",),
)  # fmt: skip
def tail_that_is_kept(run: Run) -> None:
    @run.compile
    def mixed(x: Any, states: Any) -> Any:
        y = x.cos()
        if 0 in states:
            y = y + states[0]
        tail = y[:, -1:]
        if run.remedied:
            tail = tail.clone(memory_format=torch.contiguous_format)
        states[0] = tail
        return y

    states: dict[int, Any] = {}
    for length in (3, 1, 1):
        mixed(ones(1, length, 4), states)


def leaky(slope: float) -> Callable[[Any], Any]:
    """An activation."""
    return lambda x: torch.where(x > 0, x, x * slope)


def clipped(limit: float) -> Callable[[Any], Any]:
    """Another one."""
    return lambda x: x.clamp(-limit, limit)


@case(
    "", "why-recompile",
    cause=("slope of act changes: 0.1, 0.2", "object of act.__code__"),
    advice="Dynamo has made slope of act an input of the graph by itself",
    counts=(3, 2),
    never=("limit of act changes",),
)  # fmt: skip
def activations_of_a_registry(run: Run) -> None:
    def activated(x: Any, act: Any) -> Any:
        return act(x * 2)

    call = run.compile(activated, dynamic=True if run.remedied else None)
    for act in (leaky(0.1), leaky(0.2), clipped(1.0)):
        call(ones(2), act)
