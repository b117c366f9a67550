"""Tensors of classes derived from `torch.Tensor`, with and without a `__torch_function__`."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.engines.native.harness import check, same

pytestmark = pytest.mark.evaluator_out


class Copied(torch.Tensor):
    """One that can be copied, for the comparison."""

    def __deepcopy__(self, memo: Any) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            copied = self.detach().clone().as_subclass(type(self))
            vars(copied).update(copy.deepcopy(vars(self), memo))
            return copied.requires_grad_(self.requires_grad)


class Plain(Copied):
    scale = 3

    def scaled(self) -> Any:
        return self * self.scale

    @property
    def doubled(self) -> Any:
        return self * 2

    @classmethod
    def named(cls) -> str:
        return cls.__name__

    @staticmethod
    def moved(x: Any) -> Any:
        return x + 1


class Nearer(Plain):
    pass


NOTES: list[str] = []


class Noting(Copied):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name not in ("__get__", "__deepcopy__"):
            NOTES.append(name)
        return super().__torch_function__(func, types, args, kwargs or {})


class Tenfold(Copied):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.add or func is torch.Tensor.add:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {})) * 10
        return super().__torch_function__(func, types, args, kwargs)


class Refusing(Copied):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(each is Plain for each in types):
            return NotImplemented
        return super().__torch_function__(func, types, args, kwargs)


def arithmetic(x: Any, y: Any) -> Any:
    z = x.sin() + 1
    return z * y, 2 - x, y / x, x @ y, -x, x**2, abs(x), x > y, x == y, type(z).__name__


def functions(x: Any, y: Any) -> Any:
    parts = torch.split(torch.cat([x, y]), 2)
    largest = torch.max(x.reshape(3, 1), dim=0)
    stacked = torch.stack((y, x), dim=0)
    return parts, largest.values, stacked, torch.nn.functional.relu(x - 2), torch.ones_like(x)


def facts(x: Any, y: Any) -> Any:
    n = x.shape[0] + len(x) + x.dim() + x.size(0) + x.numel()
    return x * n, x.dtype, x.T, x.is_floating_point(), x.device.type, x.shape, x.stride(), x.ndim


def kinds(x: Any, y: Any) -> Any:
    told = isinstance(x, torch.Tensor), isinstance(y, Plain), type(x) is type(y), type(x).__name__
    return x + 1, told, torch.is_tensor(x), x is y, isinstance(x + y, type(x))


def in_place(x: Any, y: Any) -> Any:
    z = x.add_(y)
    x += 1
    x[0] = 7
    y.mul_(2)
    return z is x, z, x[1:]


def made_here(x: Any, y: Any) -> Any:
    made = torch.ones(3).as_subclass(Plain)
    made.add_(1)
    return made, made, [made], made.scaled(), made + x


def both_names(x: Any, y: Any) -> Any:
    plain = torch.zeros(3)
    other = plain.as_subclass(Nearer)
    other.add_(1)
    return plain, other, plain * 2


def across_a_break(x: Any, y: Any) -> Any:
    z = x * 2
    print("between")
    return z + y, x - z


def switched_off(x: Any, y: Any) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        z = x * 2
        w = x.sin()
        print("between")
    return z + w, x * z


def rows(x: Any, y: Any) -> Any:
    total = x[0] * 1
    for row in x:
        total = total + row
    return total, [r + 1 for r in y]


def through_a_module(x: Any, y: Any) -> Any:
    return LAYER(x).sum() + nn.functional.mse_loss(x, y)


LAYER = nn.Linear(3, 2)


def caught(x: Any, y: Any) -> Any:
    try:
        return x + y
    except TypeError:
        return x * 3


FUNCTIONS = [
    arithmetic, functions, facts, kinds, in_place, made_here, both_names, across_a_break,
    switched_off, rows, through_a_module, caught,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", [Plain, Nearer, Noting, Tenfold, Refusing])
@pytest.mark.parametrize("other", [torch.Tensor, Plain])
def test_their_class_is_asked_as_in_torch(function: Any, kind: Any, other: Any) -> None:
    x = torch.arange(1.0, 4).as_subclass(kind)
    check(function, x, torch.ones(3).as_subclass(other), namespace=function.__globals__)
    both = torch.arange(1.0, 4).as_subclass(kind)
    check(function, both, both, namespace=function.__globals__)


def test_what_is_noted_is_noted_in_order() -> None:
    def notes(x: Any, y: Any) -> Any:
        NOTES.clear()
        return x.sin() + torch.cos(y) * 2, torch.relu(x), x.view(1, 3), [*NOTES]

    x = torch.arange(1.0, 4).as_subclass(Noting)
    explanation = check(notes, x, torch.ones(3))
    assert not explanation.breaks


def test_methods_and_attributes_of_their_own() -> None:
    def own(x: Any) -> Any:
        return x.scaled() + x.doubled, x.named(), x.moved(x), x.tag, hasattr(x, "other"), x.scale

    x = torch.arange(1.0, 4).as_subclass(Plain)
    x.tag = "a"  # type: ignore[attr-defined]  # stored on this tensor
    explanation = check(own, x)
    assert not explanation.breaks


@pytest.mark.parametrize("kind", [Plain, Noting])
def test_gradients_reach_the_tensor_itself(kind: Any) -> None:
    from stepper import native

    def loss(x: Any) -> Any:
        return (x * x).sum() + x.doubled.sum() if kind is Plain else (x * x).sum()

    found = []
    for function in (loss, native.compile(loss, backend="aot_eager", fullgraph=True)):
        x = torch.arange(1.0, 4).as_subclass(kind).requires_grad_()
        function(x).backward()
        found.append([x.grad, type(x.grad)])
    assert same(*found)


class Added(Plain):
    """One whose operations Python asks of its class."""

    def __add__(self, other: Any) -> Any:
        return super().__add__(other) * 10

    def __len__(self) -> int:
        return 7


def test_special_methods_of_their_own_are_called() -> None:
    def own(x: Any, y: Any) -> Any:
        return x + y, y + x, len(x), sum([x, y]), y.as_subclass(Added) + 1

    check(own, torch.arange(1.0, 4).as_subclass(Added), torch.ones(3), namespace={"Added": Added})


def test_what_is_stored_on_one_stands_before_what_its_class_has() -> None:
    from stepper import native

    def scaled(x: Any) -> Any:
        return x * x.scale, x.scaled()

    compiled = native.compile(scaled, backend="eager")
    for stored in (False, True, False, True):
        x = torch.arange(1.0, 4).as_subclass(Plain)
        if stored:
            x.scale = 5
            x.scaled = lambda: 8  # type: ignore[method-assign]  # likewise
        assert same(compiled(x), scaled(x))


def test_one_that_is_made_of_an_argument_outlives_a_break() -> None:
    def broken(x: Any) -> Any:
        y = x.as_subclass(Plain)
        print("made")
        return y.scaled(), type(y)

    explanation = check(broken, torch.ones(3), namespace={"Plain": Plain})
    assert explanation.breaks


def test_what_a_checkpoint_gives_has_their_class() -> None:
    def kept(x: Any) -> Any:
        return checkpoint(lambda y: (y * 2, y.sum()), x, use_reentrant=False)

    x = torch.arange(1.0, 4).as_subclass(Plain)
    explanation = check(kept, x, namespace={"checkpoint": checkpoint})
    assert not explanation.breaks


class Hearing(torch.Tensor):
    """One whose class hears of everything."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        HEARD.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


HEARD: list[Any] = []


@pytest.mark.parametrize("breaks", [False, True])
def test_to_compile_asks_their_class_nothing(breaks: bool) -> None:
    from stepper import native

    def heard(x: Any) -> Any:
        if breaks:
            print(end="")
        return x.sin() + x.shape[0]

    found = []
    for function in (heard, native.compile(heard, backend="eager")):
        HEARD.clear()
        function(torch.ones(3).as_subclass(Hearing))
        found.append([*HEARD])
    assert found[0] == found[1] != []


class Marked(nn.Parameter):
    mark = 3

    def halved(self) -> Any:
        return self / 2

    @property
    def marked(self) -> Any:
        return self * self.mark


def test_parameters_with_methods_of_their_own_are_parameters() -> None:
    def own(p: Any, x: Any) -> Any:
        return p.halved() + p.marked + x, p.mark

    explanation = check(own, Marked(torch.ones(3)), torch.ones(3))
    assert not explanation.breaks
