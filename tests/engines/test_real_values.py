"""A description of a real value is kept as long as it says what is so, and not longer."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode, in_kernel_invocation_manager
from torch.overrides import TorchFunctionMode

from stepper import _C
from stepper.engines.common import values
from stepper.engines.common.tensors import fake_tensor_meta
from stepper.engines.common.values import describe, unchanged


class Meta(type):
    """Would be asked by a lookup."""

    def __hash__(cls) -> int:
        raise AssertionError("a metaclass was asked")


class Plain:
    """Nothing can be said of one but its class."""


class Asked(metaclass=Meta):
    """Likewise."""


class list_(list[object]):
    """A class of the program's."""


list_.__name__ = "list"


def function() -> None:
    """Has a name."""


def renamed() -> None:
    """Gets another name."""


class Watching(TorchFunctionMode):
    """Notes whatever asks a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[object] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        self.asked.append(func)
        return func(*args, **(kwargs or {}))


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "a tensor's sizes": (lambda: torch.ones(2, 3), lambda t: t.resize_(3, 3)),
    "a tensor's strides": (lambda: torch.ones(3, 3), lambda t: t.t_()),
    "whether a tensor wants a gradient": (lambda: torch.ones(2), lambda t: t.requires_grad_()),
    "a tensor's dtype": (
        lambda: torch.ones(2), lambda t: setattr(t, "data", torch.ones(2, dtype=torch.int8)),
    ),
    "a parameter's sizes": (
        lambda: torch.nn.Parameter(torch.ones(2)), lambda p: setattr(p, "data", torch.ones(3)),
    ),
    "how much a list holds": (lambda: [1, 2], lambda v: v.append(3)),
    "what a list holds": (lambda: [1, "one", None], lambda v: v.__setitem__(0, 2)),
    "a text in a list": (lambda: ["one"], lambda v: v.__setitem__(0, "two")),
    "what a list in a tuple holds": (lambda: ([torch.ones(2)],), lambda v: v[0].clear()),
    "a tensor in a list": (lambda: [torch.ones(2)], lambda v: v[0].resize_(5)),
    "a flag in a list": (lambda: [True], lambda v: v.__setitem__(0, False)),
    "an object in a list": (lambda: [Plain()], lambda v: v.__setitem__(0, Asked())),
    "a function's name": (lambda: renamed, lambda v: setattr(v, "__qualname__", "another")),
    "how much a long list holds": (lambda: list(range(40)), lambda v: v.append(40)),
    "what a long list holds first": (lambda: list(range(40)), lambda v: v.__setitem__(0, 1)),
    "how much a dictionary holds": (lambda: {"a": 1}, lambda v: v.update(b=2)),
    "what a dictionary holds": (lambda: {"a": 1, "b": [1]}, lambda v: v["b"].append(2)),
    "a name in a dictionary": (lambda: {"a": 1}, lambda v: v.update(b=v.pop("a"))),
    "the order of a dictionary": (
        lambda: {"a": None, "b": None}, lambda v: v.update(a=v.pop("a")),
    ),
    "how much a long dictionary holds": (
        lambda: dict.fromkeys(range(40)), lambda v: v.update(a=None),
    ),
    "a class's name": (lambda: type("One", (), {}), lambda v: setattr(v, "__name__", "Two")),
    "an object's class": (Plain, lambda v: setattr(v, "__class__", type("Other", (), {}))),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_seen(what: str) -> None:
    make, change = CHANGES[what]
    value = make()
    before = describe(value)
    assert unchanged(value, before)
    change(value)
    assert not unchanged(value, before)
    assert describe(value) != before


@pytest.mark.parametrize(
    "make",
    [
        lambda: None, lambda: 7, lambda: 1 << 200, lambda: 2.5, lambda: 1j, lambda: "text",
        lambda: "long" * 300, lambda: b"bytes", lambda: function, lambda: len, lambda: torch,
        lambda: torch.add, lambda: torch.float32, lambda: torch.device("cpu"), lambda: {"a": 1},
        lambda: {1: {}, "b": {"c": {}}}, lambda: {"long" * 300: 1}, lambda: vars(builtins),
        lambda: {1, 2}, lambda: slice(1, 2), lambda: [[[[1]]]], lambda: torch.Size([2, 3]),
        lambda: list(range(40)), Plain, Asked, lambda: Plain, lambda: Asked, lambda: [].append,
        list_, lambda: [list_()], lambda: torch.ones(2).to_sparse(),
        lambda: torch.nn.Parameter(torch.ones(1)), lambda: torch.nn.Buffer(torch.ones(1)),
    ],
)  # fmt: skip
def test_whoever_is_said_to_be_unchanged_is_described_alike(make: Callable[[], Any]) -> None:
    value = make()
    before = describe(value)
    if unchanged(value, before):
        assert describe(value) == before


def _looked_at(*there: object) -> list[Any]:
    """What is said of values that stand on the stack of a frame that is looked at twice, while all
    that they hold is told already."""
    eyes = _C.Eyes(
        values.describe, values.inside, values.container, unchanged, lambda frame: [*there],
        lambda frame: {}, values.LEAVES, _C.NULL, values.NULL,
    )  # fmt: skip
    real: Any = None
    eyes.look(_C.InView(lambda value, items: 1, {}), real, None)
    stack, _ = eyes.look(_C.InView(lambda value, items: 1, {}), real, None)
    return stack


def test_what_stands_in_a_frame_is_described_like_any_other_value() -> None:
    x, plain = torch.ones(2), Plain()
    there = [
        [], (), [x], (x, x), [x, [x, [x, [x]]]], ([x], (plain, Asked())), [1, "one", None, 2.5],
        [function, len, torch, Plain, Asked], list(range(40)), [[*range(40)]], [{1: [x]}, {2}],
        [slice(1, [x]), torch.Size([2]), list_([x])], {"a": [x]}, [torch.nn.Parameter(x), x],
        [torch.nn.Buffer(x), x.to_sparse(), vars(builtins)], [[[]], [()], ((),)],
    ]  # fmt: skip
    assert _looked_at(*there) == [*map(describe, there)]


def test_a_list_at_the_address_of_another_is_told_anew() -> None:
    x, y = torch.ones(2), torch.ones(3)
    one = [x, [x]]
    eyes = _C.Eyes(
        values.describe, values.inside, values.container, unchanged, lambda frame: [one, x, y],
        lambda frame: {}, values.LEAVES, _C.NULL, values.NULL,
    )  # fmt: skip
    real: Any = None
    view = _C.InView(lambda value, items: 1, {})
    for change in (one.reverse, lambda: one.append(y), one.clear, lambda: one.extend([y, [y]])):
        stack, _ = eyes.look(view, real, None)
        assert stack == [*map(describe, (one, x, y))]
        change()


def test_a_description_of_another_object_says_nothing() -> None:
    assert not unchanged(torch.ones(2), describe(torch.ones(2)))
    one = [1]
    key, value, children, kind = describe(list_())
    assert not unchanged(one, describe(one)._replace(value=value, children=children, kind=None))
    assert kind is None
    assert key


def test_a_container_that_holds_itself_comes_to_an_end() -> None:
    value: list[Any] = []
    value.append(value)
    assert not unchanged(value, describe(value))


def test_a_mode_of_the_programs_is_not_asked() -> None:
    value = [torch.ones(2)]
    before = describe(value)
    with Watching() as mode:
        assert not unchanged(value, before)
        assert not mode.asked


def test_a_fake_tensor_is_where_it_claims_to_be_also_within_a_kernel() -> None:
    mode = FakeTensorMode()
    fake = mode.from_tensor(torch.ones(2))
    with in_kernel_invocation_manager(mode):
        assert str(fake.device) == "meta"
        meta = fake_tensor_meta(fake)
    assert meta is not None
    assert meta.device == "cpu"
