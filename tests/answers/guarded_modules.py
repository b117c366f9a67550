"""Whether something of a module is guarded, by whichever name: its own, its parent's, its
caller's."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "is-guarded", expression="self.layer.owner()",
    cause="self.layer.owner() is guarded: it must be the same object",
    counts=(2, 1),
)  # fmt: skip
def owner_by_a_weak_reference(run: Run) -> None:
    class Owned(nn.Module):
        def __init__(self, owner: Any) -> None:
            super().__init__()
            self.owner: Any = weakref.ref(owner)

        def forward(self, x: Any) -> Any:
            return x * self.owner().scale

    class Owner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = ones(1)
            self.layer = Owned(self)

        def forward(self, x: Any) -> Any:
            return self.layer(x) + self.scale

    owner, other = Owner(), Owner()
    compiled = run.compile(owner)
    compiled(ones(2))
    if not run.remedied:
        owner.layer.owner = weakref.ref(other)
    compiled(ones(2))


@case(
    "", "is-guarded", expression="layers[0].bias.requires_grad",
    cause=(
        "if its self is layers, layers[0].bias.requires_grad is guarded",
        "nothing is called layers in what was compiled",
    ),
    counts=(2, 1),
    never=("if its fn is",),
)  # fmt: skip
def layers_by_the_callers_name(run: Run) -> None:
    class ModuleListed(nn.ModuleList):
        def forward(self, x: Any) -> Any:
            return self[0](x)

    layers = ModuleListed([nn.Linear(3, 3)])
    compiled = run.compile(layers)
    compiled(ones(2, 3))
    if not run.remedied:
        layers[0].bias.requires_grad_(False)
    compiled(ones(2, 3))


@case(
    "", "is-guarded", expression="self.negative_slope",
    cause=(
        "self.act.negative_slope is guarded: it must be 0.1",
        "self of an inlined function is self.act of the compiled one",
    ),
    counts=(2, 1),
)  # fmt: skip
def attribute_of_an_inlined_layer(run: Run) -> None:
    """A line of torch's speaks of `self`, and that is a part of what was compiled."""

    class Sloped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.LeakyReLU(0.1)

        def forward(self, x: Any) -> Any:
            return self.act(x)

    net = Sloped()
    compiled = run.compile(net)
    compiled(ones(2))
    if not run.remedied:
        net.act.negative_slope = 0.2
    compiled(ones(2))


@case(
    "", "is-guarded", expression="self.training",
    cause=(
        "self.training of the compiled one itself is not guarded",
        "self.drop.training is guarded: it must be True",
        "self of an inlined function is self.drop of the compiled one",
    ),
    counts=(1, 1),
    never=("self.training is guarded: it must be True\n  self",),
)  # fmt: skip
def mode_of_the_whole_or_of_a_part(run: Run) -> None:
    """Only a layer of it looks at its mode."""

    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x: Any) -> Any:
            return self.drop(x) + 1

    net = Dropping()
    compiled = run.compile(net)
    compiled(ones(2))
    net.training = run.remedied
    compiled(ones(2))


@case(
    "pytorch#98928", "is-guarded", expression="self.foo",
    cause="self.foo is guarded: it must be True",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def attribute_of_a_flow(run: Run) -> None:
    class Flow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.foo = True

        def forward(self, x: Any) -> Any:
            return x * 2 if self.foo else x * 3

    flow = Flow()
    compiled = run.compile(flow)
    compiled(ones(1))
    flow.foo = run.remedied
    compiled(ones(1))


@case(
    "pytorch#124357", "is-guarded", expression="self.value",
    cause="self.value is guarded: it must be 6",
    counts=(2, 1),
    never=("not guarded", "is free"),
)  # fmt: skip
def value_set_by_a_method(run: Run) -> None:
    class Toy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.value = -1
            self.cache = ones(2, 3)

        def change(self, value: int) -> None:
            self.value = value

        def forward(self) -> Any:
            return self.cache + self.value

    toy = Toy()
    compiled = run.compile(toy)
    for value in (6, 6 if run.remedied else 8):
        toy.change(value)
        compiled()


@case(
    "pytorch#115774", "is-guarded", expression="self.cache",
    cause="its value is an input of the graph (l_self_cache)",
    counts=(1, 1),
    never=("not guarded",),
)  # fmt: skip
def cache_that_is_replaced(run: Run) -> None:
    class Cached(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cache = torch.zeros(2)

        def forward(self, x: Any, at: Any) -> Any:
            self.cache[at] = x
            return self.cache

    model = Cached()
    compiled = run.compile(model)
    compiled(ones(1), torch.tensor([0]))
    if not run.remedied:
        model.cache = torch.zeros(2)
    compiled(ones(1), torch.tensor([1]))


@case(
    "pytorch#117265", "is-guarded", expression="layer.forward",
    cause="layer.forward is guarded: no attribute of its own may hide the one of its class",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def forward_of_an_instance(run: Run) -> None:
    layer = nn.Linear(3, 3)

    @run.compile
    def through(x: Any) -> Any:
        return layer(x)

    through(ones(3))
    if not run.remedied:
        layer.forward = lambda x: x * 3  # type: ignore[method-assign]
    through(ones(3))


class Seen:
    """A cache that counts."""

    def __init__(self) -> None:
        self.counted = 0

    def update(self, x: Any) -> Any:
        return x + 1 if self.counted == 0 else x


@case(
    "", "is-guarded", expression="self.counted",
    cause=(
        "cache.counted is guarded: it must be 0",
        "self of an inlined function is cache of the compiled one",
    ),
    counts=(2, 1),
    function="WithCache.forward",
)  # fmt: skip
def attribute_of_an_inlined_cache(run: Run) -> None:
    class Layer(nn.Module):
        def forward(self, x: Any, cache: Any) -> Any:
            return cache.update(x)

    class WithCache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = Layer()

        def forward(self, x: Any, cache: Any) -> Any:
            return self.layer(x, cache)

    compiled, cache = run.compile(WithCache()), Seen()
    compiled(ones(2), cache)
    cache.counted = 0 if run.remedied else 5
    compiled(ones(2), cache)


@case(
    "", "is-guarded", expression="self.parent().scale",
    cause="self.child.parent().scale is guarded: it must be 2",
    counts=(2, 1),
    function="Parent.forward",
)  # fmt: skip
def scale_of_the_parent(run: Run) -> None:
    class Child(nn.Module):
        def __init__(self, parent: Any) -> None:
            super().__init__()
            self.parent: Any = weakref.ref(parent)

        def forward(self, x: Any) -> Any:
            return x * self.parent().scale

    class Parent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 2
            self.child = Child(self)

        def forward(self, x: Any) -> Any:
            return self.child(x)

    parent = Parent()
    compiled = run.compile(parent)
    compiled(ones(2))
    parent.scale = 2 if run.remedied else 3
    compiled(ones(2))


@case(
    "", "is-guarded", expression="blocks[0].index",
    cause="if its self is blocks[0], blocks[0].index is guarded",
    counts=(2, 1),
    function="Numbered.forward",
)  # fmt: skip
def number_of_a_block(run: Run) -> None:
    class Numbered(nn.Module):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

        def forward(self, x: Any) -> Any:
            return x + self.index

    blocks = [Numbered(1), Numbered(1 if run.remedied else 2)]
    forward = run.compile(Numbered.forward)
    for block in blocks:
        forward(block, ones(2))
