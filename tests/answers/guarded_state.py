"""Programs that change something of a module, of a class or of a global between their calls, and
whether that is guarded against."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones

SCALE = 2
TABLE = {"scale": 2, "other": 5}


class Scaling(nn.Module):
    """Multiplies, by a number that is kept elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self._scale = 2
        self.linear = nn.Linear(3, 3)
        self.flag = False
        self.extra = 2

    @property
    def scale(self) -> int:
        """By what."""
        return self._scale

    def forward(self, x: Any) -> Any:
        return x * self.scale


@case(
    "pytorch#117758", "is-guarded", expression="self.linear._forward_hooks",
    cause="self.linear._forward_hooks is not guarded: Dynamo makes no check of modules' hooks",
    counts=(1, 1),
)  # fmt: skip
def hook_added_later(run: Run) -> None:
    class Net(Scaling):
        def forward(self, x: Any) -> Any:
            return self.linear(x)

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    if not run.remedied:
        net.linear.register_forward_hook(lambda module, args, output: output + 1)
    compiled(ones(3))


@case(
    "pytorch#124717", "is-guarded", expression="self.flag",
    cause="self.flag is guarded: it must be False",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def flag_that_is_set_later(run: Run) -> None:
    class Net(Scaling):
        def forward(self, x: Any) -> Any:
            return x * self.extra if self.flag else x + 1

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    net.flag = not run.remedied
    compiled(ones(3))


@case(
    "", "is-guarded", expression="self.extra",
    cause="self.extra is not guarded itself",
    counts=(1, 1),
    never=("is guarded",),
)  # fmt: skip
def only_in_the_other_branch(run: Run) -> None:
    class Net(Scaling):
        def forward(self, x: Any) -> Any:
            return x * self.extra if self.flag else x + 1

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    net.extra = 2 if run.remedied else 3
    compiled(ones(3))


@case(
    "", "is-guarded", expression="self.scale",
    cause=(
        "self.scale is a property: its code is guarded, and what that reads",
        "read in it: CONSTANT_MATCH L['self']._scale  L['self']._scale == 2",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def property_of_a_module(run: Run) -> None:
    class Net(Scaling):
        def forward(self, x: Any) -> Any:
            return x * self.scale

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    net._scale = 2 if run.remedied else 3
    compiled(ones(3))


@case(
    "", "is-guarded", expression="model.flag",
    cause=(
        "nothing is called model in what was compiled",
        "has self, x",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def model_called_self(run: Run) -> None:
    class Net(Scaling):
        def forward(self, x: Any) -> Any:
            return x * 2 if self.flag else x + 1

    model = Net()
    compiled = run.compile(model)
    compiled(ones(3))
    model.flag = not run.remedied
    compiled(ones(3))


class Settings:
    factor = 2


@case(
    "pytorch#176851", "is-guarded", expression="settings.factor",
    cause=(
        "settings.factor is guarded: it must be 2",
        "settings.factor is free",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def attribute_of_the_class(run: Run) -> None:
    @run.compile
    def scaled(x: Any, settings: Any) -> Any:
        return x * settings.factor

    settings = Settings()
    scaled(ones(3), settings)
    Settings.factor = 2 if run.remedied else 3
    scaled(ones(3), settings)
    Settings.factor = 2


@case(
    "pytorch#176851", "is-guarded", expression="Settings.factor",
    cause="Settings.factor is guarded: it must be 2",
    counts=(2, 1),
    never=("not guarded", "is free"),
)  # fmt: skip
def attribute_by_its_class(run: Run) -> None:
    @run.compile
    def scaled(x: Any) -> Any:
        return x * Settings.factor

    scaled(ones(3))
    Settings.factor = 2 if run.remedied else 3
    scaled(ones(3))
    Settings.factor = 2


@case(
    "", "is-guarded", expression="SCALE",
    cause="SCALE is guarded: it must be 2",
    counts=(2, 1),
    never=("not guarded", "is free"),
)  # fmt: skip
def global_mutated(run: Run) -> None:
    global SCALE

    @run.compile
    def scaled(x: Any) -> Any:
        return x * SCALE

    scaled(ones(3))
    SCALE = 2 if run.remedied else 3
    scaled(ones(3))
    SCALE = 2


@case(
    "", "is-guarded", expression="TABLE['scale']",
    cause="TABLE['scale'] is guarded: it must be 2",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def global_dict_mutated(run: Run) -> None:
    @run.compile
    def scaled(x: Any) -> Any:
        return x * TABLE["scale"]

    scaled(ones(3))
    TABLE["scale"] = 2 if run.remedied else 3
    scaled(ones(3))
    TABLE["scale"] = 2


@case(
    "", "is-guarded", expression="self.dropout.training",
    cause="self.dropout.training is guarded: it must be True",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def training_of_a_submodule(run: Run) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dropout = nn.Dropout()

        def forward(self, x: Any) -> Any:
            return self.dropout(x)

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    net.dropout.train(run.remedied)
    compiled(ones(3))


@case(
    "", "is-guarded", expression="self.training",
    cause="self.training is not guarded itself",
    counts=(1, 1),
    never=("is guarded",),
)  # fmt: skip
def training_that_is_not_used(run: Run) -> None:
    class Net(Scaling):
        def forward(self, x: Any) -> Any:
            return x * self.scale

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    net.train(run.remedied)
    compiled(ones(3))


@case(
    "pytorch#139476", "is-guarded", expression="self.linear.weight.requires_grad",
    cause="self.linear.weight.requires_grad is guarded: it must be True",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def frozen_parameter(run: Run) -> None:
    class Net(Scaling):
        def forward(self, x: Any) -> Any:
            return self.linear(x)

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    net.linear.weight.requires_grad_(run.remedied)
    compiled(ones(3))


@case(
    "pytorch#167416", "is-guarded", expression="SCALE",
    cause=(
        "SCALE is not guarded: no guard that was made on it is checked",
        "left out when the guards were built: a guard_filter_fn",
    ),
    counts=(1, 1),
    never=("is guarded", "what leads to it"),
)  # fmt: skip
def guard_that_is_filtered(run: Run) -> None:
    global SCALE

    def scaled(x: Any) -> Any:
        return x * SCALE

    keep = torch.compiler.skip_guard_on_globals_unsafe
    compiled = run.compile(scaled, options={"guard_filter_fn": keep})
    compiled(ones(3))
    SCALE = 2 if run.remedied else 3
    compiled(ones(3))
    SCALE = 2


@case(
    "pytorch#197859", "is-guarded", expression="self.linear",
    cause="only the type and attributes of self.linear are guarded, and parts of it",
    counts=(1, 1),
    never=("self.linear is guarded",),
)  # fmt: skip
def submodule_that_is_hidden(run: Run) -> None:
    class Net(Scaling):
        def forward(self, x: Any) -> Any:
            return self.linear(x)

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    if not run.remedied:
        object.__setattr__(net, "linear", nn.Linear(3, 3))
    compiled(ones(3))


@case(
    "", "is-guarded", expression="self.linear",
    cause="only the type and attributes of self.linear are guarded, and parts of it",
    counts=(1, 1),
    never=("self.linear is guarded",),
)  # fmt: skip
def submodule_that_is_replaced(run: Run) -> None:
    class Net(Scaling):
        def forward(self, x: Any) -> Any:
            return self.linear(x)

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    if not run.remedied:
        net.linear = nn.Linear(3, 3)
    compiled(ones(3))


@case(
    "pytorch#197860", "is-guarded", expression="self.step.__code__",
    cause="self.step.__code__ is not guarded itself",
    counts=(1, 1),
    never=("is guarded",),
)  # fmt: skip
def code_of_a_method(run: Run) -> None:
    class Net(nn.Module):
        def step(self, x: Any) -> Any:
            return x * 2

        def forward(self, x: Any) -> Any:
            return self.step(x)

    def other(self: Any, x: Any) -> Any:
        return x * 9

    compiled = run.compile(Net())
    compiled(ones(3))
    if not run.remedied:
        Net.step.__code__ = other.__code__
    compiled(ones(3))


@case(
    "", "is-guarded", expression="self.layers[1].k",
    cause="self.layers[1].k is guarded: no attribute of its own may hide the one of its class",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def layer_of_a_list(run: Run) -> None:
    class Layer(nn.Module):
        k = 2

        def forward(self, x: Any) -> Any:
            return x * self.k

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Layer(), Layer()])

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    if not run.remedied:
        net.layers[1].k = 3
    compiled(ones(3))


@case(
    "", "is-guarded", expression="torch.is_grad_enabled()",
    cause="torch.is_grad_enabled() is guarded, with other global state",
    counts=(2, 1),
    never=("nothing is called",),
)  # fmt: skip
def mode_of_gradients(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2

    doubled(ones(3))
    with torch.set_grad_enabled(run.remedied):
        doubled(ones(3))
