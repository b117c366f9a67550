"""Modules that are cast, moved, resized, replaced or get other layers, and modules of one class
that differ."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="self.weight.shape[0] changes: 4, 1",
    advice="0 and 1 are numbers with",
    counts=(2, 1),
    never=("they are symbols",),
)  # fmt: skip
def parameter_replaced_by_one_of_one(run: Run) -> None:
    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(ones(4))

        def forward(self, x: Any) -> Any:
            return x * self.weight  # cause

    net = Weighted()
    compiled = run.compile(net)
    compiled(ones(4))
    net.weight = nn.Parameter(ones(4 if run.remedied else 1))
    compiled(ones(4))


@case(
    "pytorch#128071", "why-recompile",
    cause="type of self.mixer changes",
    advice="Keep self.mixer of one type: each has an entry of its own",
    counts=(2, 2),
    never=("make the class once",),
)  # fmt: skip
def mixers_of_blocks(run: Run) -> None:
    class Doubling(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    class Tripling(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 3

    class Block(nn.Module):
        def __init__(self, mixer: nn.Module) -> None:
            super().__init__()
            self.mixer = mixer

        def forward(self, x: Any) -> Any:
            return self.mixer(x) + 1  # cause

    for mixer in (Doubling(), Tripling(), Doubling()):
        run.compile(Block(mixer))(ones(2))


@case(
    "", "why-recompile",
    cause=("dtype of x changes: float32, float64, and of 2 others"),
    advice="the module was cast, or has another one in its place, between the calls",
    counts=(2, 1),
    never=("x.to(torch.float32)",),
)  # fmt: skip
def module_cast_between_calls(run: Run) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.fc(x)  # cause

    model = Model()
    compiled = run.compile(model)
    if not run.remedied:
        compiled(ones(2))
    model.double()
    compiled(ones(2).double())


@case(
    "", "why-recompile",
    cause="self.embedded.weight.shape[0] changes: 10, 12",
    advice="Give it its size before the first call",
    counts=(2, 1),
    never=("with that they are symbols",),
)  # fmt: skip
def tokens_that_are_added(run: Run) -> None:
    """A symbol is made at the second size, so it saves nothing where there are two."""

    class Embedded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedded = nn.Embedding(10, 4)

        def forward(self, ids: Any) -> Any:
            return self.embedded(ids) * 2  # cause

    model = Embedded()
    compiled = run.compile(model)
    for more in (run.remedied, True):
        if more:
            model.embedded = nn.Embedding(12, 4)
        compiled(torch.tensor([1, 2]))


@case(
    "", "why-recompile",
    cause="type of self.norm changes: torch.nn.modules.normalization.LayerNorm, RMSNorm",
    advice="Keep self.norm of one type: each has an entry",
    counts=(2, 1),
    never=("self.norm.eps changes", "being None"),
    function="Normed",
)  # fmt: skip
def norms_of_blocks(run: Run) -> None:
    """What one of them has, and not the other, is a consequence."""

    class Normed(nn.Module):
        def __init__(self, norm: Any) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, x: Any) -> Any:
            return x + self.norm(x)

    first = nn.LayerNorm(4)
    for norm in (first, copy.deepcopy(first) if run.remedied else nn.RMSNorm(4)):
        run.compile(Normed(norm))(ones(2, 4))


@case(
    "pytorch#167504", "why-recompile",
    cause="x.shape[1] grows: 2, 3, 4, 5",
    advice="torch._dynamo.config.force_nn_module_property_static_shapes = False, where neither "
    "dynamic=False is given",
    counts=(4, 2),
)  # fmt: skip
def models_made_in_a_loop(run: Run) -> None:
    class Wide(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.project = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            return self.project(x)  # cause

    torch._dynamo.config.force_parameter_static_shapes = not run.remedied
    torch._dynamo.config.force_nn_module_property_static_shapes = not run.remedied
    for width in range(2, 6):
        run.compile(Wide(width), dynamic=None if run.remedied else False)(ones(1, width))


@case(
    "", "why-recompile",
    cause=("type of self.layers._modules changes: dict, ", "OrderedDict"),
    advice="self.layers has other submodules in one call than in another",
    counts=(2, 1),
    never=("always as the same type", "is not there", "has an attribute"),
)  # fmt: skip
def layer_that_is_taken_away(run: Run) -> None:
    class Pruned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:  # cause
                x = layer(x)
            return x

    model = Pruned()
    pruned = run.compile(model)
    if not run.remedied:
        pruned(ones(1, 2))
    del model.layers[2]
    pruned(ones(1, 2))


@case(
    "", "why-recompile",
    cause="length of self.layers._modules grows: 1, 2, 3",
    advice="of several models that differ in them, each takes an entry",
    counts=(3, 1),
)  # fmt: skip
def models_of_several_depths(run: Run) -> None:
    class Deep(nn.Module):
        def __init__(self, depth: int) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(depth))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:  # cause
                x = layer(x)
            return x

    for depth in (1, 2, 3):
        run.compile(Deep(1 if run.remedied else depth))(ones(1, 2))


@case(
    "", "why-recompile",
    cause="x.shape[1] grows: 2, 3, 4, 5",
    advice="The sizes of a module's parameters and buffers, and of any Parameter, are numbers",
    counts=(3, 2),
    function="Widened",
)  # fmt: skip
def layers_of_other_widths(run: Run) -> None:
    class Widened(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.inner = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            return self.inner(x)  # cause

    settings = ("force_parameter_static_shapes", "force_nn_module_property_static_shapes")
    changed = dict.fromkeys(settings, not run.remedied)
    with torch._dynamo.config.patch(recompile_limit=3, **changed):
        for width in (2, 3, 4, 5):
            run.compile(Widened(width))(ones(1, width))


class Filled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.linear(x).relu()  # cause


@case(
    "", "why-recompile",
    cause="device of x changes: meta, cpu, and of 2 others",
    advice="the module was moved, or has another one in its place, between the calls",
    counts=(2, 1),
    never=("Move ",),
    function="Filled.forward",
)  # fmt: skip
def model_that_is_filled_later(run: Run) -> None:
    """It is checked on meta tensors first."""
    with torch.device("meta"):
        model = Filled()
    compiled = run.compile(model)
    if not run.remedied:
        compiled(ones(2, 4, device="meta"))
    model.to_empty(device="cpu")
    compiled(ones(2, 4))


@case(
    "", "why-recompile",
    cause="type of layer changes: torch.nn.modules.linear.Linear, ParametrizedLinear",
    advice="ParametrizedLinear is what torch.nn.utils.parametrize, and weight_norm by it, calls",
    counts=(2, 1),
    never=("of one type",),
)  # fmt: skip
def weight_normalized_later(run: Run) -> None:
    layer = nn.Linear(3, 3)

    @run.compile
    def through(x: Any) -> Any:
        return layer(x)  # cause

    if run.remedied:
        torch.nn.utils.parametrizations.weight_norm(layer)
    through(ones(2, 3))
    if not run.remedied:
        torch.nn.utils.parametrizations.weight_norm(layer)
    through(ones(2, 3))


@case(
    "dion#23", "why-recompile",
    cause="parameter.shape[0] grows: 2, 3, 4",
    advice="force_parameter_static_shapes",
    counts=(3, 2),
)  # fmt: skip
def sizes_of_parameters(run: Run) -> None:
    torch._dynamo.config.force_parameter_static_shapes = not run.remedied

    @run.compile
    def orthogonalized(parameter: Any) -> Any:
        return parameter * 2  # cause

    for size in (2, 3, 4):
        orthogonalized(nn.Parameter(ones(size)))


@case(
    "", "why-break",
    cause="torch.nn.Parameter()",
    advice="and convert or move them there",
    counts=(2, 1),
)  # fmt: skip
def module_converted_inside(run: Run) -> None:
    layer = nn.Linear(2, 2)

    @run.compile
    def converted(x: Any) -> Any:
        x = x + 1
        if not run.remedied:
            layer.to(torch.float64)
        return x * 2

    converted(ones(2))
