"""Experiments for `is-guarded` that change something of a module; see `guard_experiments`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run
from tests.answers.guard_experiments import experiment

ones = torch.ones


@experiment("self[1].training")
def training_by_position(run: Run) -> Iterator[None]:
    class Steps(nn.Sequential):
        def forward(self, x: Any) -> Any:
            for each in self:
                x = each(x)
            return x

    net = Steps(nn.ReLU(), nn.Dropout(0.5))
    compiled = run.compile(net)
    compiled(ones(2))
    yield
    net[1].eval()
    compiled(ones(2))


@experiment("self.unused")
def attribute_that_is_not_read(run: Run) -> Iterator[None]:
    class Net(nn.Module):
        unused = 1

        def forward(self, x: Any) -> Any:
            return x * 2

    net = Net()
    compiled = run.compile(net)
    compiled(ones(2))
    yield
    net.unused = 2
    compiled(ones(2))


@experiment("self.blocks[1]")
def other_item_of_a_plain_list(run: Run) -> Iterator[None]:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks: list[nn.Module] = [nn.ReLU(), nn.ReLU()]

        def forward(self, x: Any) -> Any:
            return self.blocks[0](x)

    net = Plain()
    compiled = run.compile(net)
    compiled(ones(2))
    yield
    net.blocks[1] = nn.Sigmoid()
    compiled(ones(2))


@experiment("len(self.layers)")
def layer_appended(run: Run) -> Iterator[None]:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.ReLU()])

        def forward(self, x: Any) -> Any:
            for each in self.layers:
                x = each(x)
            return x

    net = Stack()
    compiled = run.compile(net)
    compiled(ones(2))
    yield
    net.layers.append(nn.ReLU())
    compiled(ones(2))


@experiment("self.heads['a']")
def head_of_a_module_dict(run: Run) -> Iterator[None]:
    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = nn.ModuleDict({"a": nn.ReLU()})

        def forward(self, x: Any) -> Any:
            return self.heads["a"](x)

    net = Heads()
    compiled = run.compile(net)
    compiled(ones(2))
    yield
    net.heads["a"] = nn.Sigmoid()
    compiled(ones(2))


@experiment("self.heads['b']")
def head_that_is_added(run: Run) -> Iterator[None]:
    class Tops(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = nn.ModuleDict({"a": nn.ReLU()})

        def forward(self, x: Any) -> Any:
            return self.heads["a"](x)

    net = Tops()
    compiled = run.compile(net)
    compiled(ones(2))
    yield
    net.heads["b"] = nn.Sigmoid()
    compiled(ones(2))


@experiment("self.fc.weight")
def parameter_with_other_elements(run: Run) -> Iterator[None]:
    class Affine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.fc(x)

    net = Affine()
    compiled = run.compile(net)
    compiled(ones(2))
    yield
    net.fc.weight = nn.Parameter(ones(2, 2))
    compiled(ones(2))


@experiment("self.k")
def inlined_by_its_own_name(run: Run) -> Iterator[None]:
    class Scaled(nn.Module):
        k = 2

        def forward(self, x: Any) -> Any:
            return x * self.k

    model = Scaled()

    @run.compile
    def called(x: Any) -> Any:
        return model(x)

    called(ones(2))
    yield
    model.k = 3
    called(ones(2))


@experiment("self.inner.k")
def behind_a_wrapper(run: Run) -> Iterator[None]:
    class Inner(nn.Module):
        k = 2

        def forward(self, x: Any) -> Any:
            return x * self.k

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self.inner(*args, **kwargs)

    outer = Outer()
    compiled = run.compile(outer)
    compiled(ones(2))
    yield
    outer.inner.k = 3
    compiled(ones(2))


@experiment("self.fc._forward_pre_hooks")
def hook_before_that_is_added(run: Run) -> Iterator[None]:
    class Hooked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.fc(x)

    net = Hooked()
    compiled = run.compile(net)
    compiled(ones(2))
    yield
    net.fc.register_forward_pre_hook(lambda module, args: None)
    compiled(ones(2))


@experiment("self.fc._forward_hooks")
def hook_that_is_removed(run: Run) -> Iterator[None]:
    class Hooking(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.fc(x)

    net = Hooking()
    handle = net.fc.register_forward_hook(lambda module, args, result: result + 1)
    compiled = run.compile(net)
    compiled(ones(2))
    yield
    handle.remove()
    compiled(ones(2))


@experiment("self.doubled")
def property_of_what_changes(run: Run) -> Iterator[None]:
    class Derived(nn.Module):
        half = 1

        @property
        def doubled(self) -> int:
            return self.half * 2

        def forward(self, x: Any) -> Any:
            return x * self.doubled

    net = Derived()
    compiled = run.compile(net)
    compiled(ones(2))
    yield
    net.half = 4
    compiled(ones(2))
