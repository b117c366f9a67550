"""Hooks of modules and tensors: registered, removed, disabled, and what they do."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn
from torch._dynamo import config

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="requires_grad of input changes: False, True",
    advice="Linear.forward is compiled by itself because the graph breaks in what calls it",
    counts=(2, 1),
    never=("detach",),
    function="Linear.forward",
)  # fmt: skip
def layers_with_a_hook_that_prints(run: Run) -> None:
    def told(_module: nn.Module, _given: object, out: Any) -> None:
        if not run.remedied:
            print(out.shape)

    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    for layer in net:
        layer.register_forward_hook(told)
    run.compile(net)(ones(1, 2))


class Keeping:
    """A hook that counts its calls, and keeps what it is given."""

    def __init__(self) -> None:
        self.calls = 0
        self.kept: list[Any] = []

    def __call__(self, module: Any, given: Any, output: Any) -> None:
        self.calls += 1
        self.kept.append(output.detach())


class Watched(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.linear(x).relu()


@case(
    "", "why-recompile",
    cause=(".calls grows: 0, 1, 2", ".kept grows: 0, 1, 2"),
    advice="do that outside of the compiled function, with what it returns",
    counts=(3, 1),
    never=("register_buffer", "not recorded why"),
    function="Watched.forward",
)  # fmt: skip
def hook_that_counts_and_keeps(run: Run) -> None:
    """A hook stands in an OrderedDict, which is read as any dict is as long as no key was moved; to
    keep its number in a tensor would leave the length of its list."""
    model = Watched()
    if not run.remedied:
        model.linear.register_forward_hook(Keeping())
    compiled = run.compile(model)
    for _ in range(3):
        compiled(ones(2, 4))


@case(
    "", "why-recompile",
    cause="layer._forward_hooks changes",
    advice="A hook of layer was registered, or removed, between the calls: do that before the",
    counts=(2, 1),
)  # fmt: skip
def hook_that_is_taken_off(run: Run) -> None:
    layer = nn.Linear(4, 4)

    def doubled(module: Any, given: Any, got: Any) -> Any:
        return got * 2

    handle = layer.register_forward_hook(doubled)

    @run.compile
    def through(x: Any) -> Any:
        return layer(x)  # cause

    if run.remedied:
        handle.remove()
    through(ones(2, 4))
    handle.remove()
    through(ones(2, 4))


@case(
    "pytorch#173452", "why-break",
    cause=("torch.compiler.disable", "called by tests/answers/hooks.py"),
    advice="remove torch.compiler.disable",
    counts=(2, 1),
)  # fmt: skip
def hook_that_is_disabled(run: Run) -> None:
    layer = nn.Linear(2, 2)
    seen: list[Any] = []

    def hook(module: Any, inputs: Any, output: Any) -> None:
        seen.append(output)

    layer.register_forward_hook(hook if run.remedied else torch.compiler.disable(hook))

    @run.compile
    def activated(x: Any) -> Any:
        return layer(x).relu()

    activated(ones(2))


@case(
    "pytorch#111966", "why-break",
    cause="2×  Call to `torch._dynamo.graph_break()`",
    advice="remove the call",
    counts=(1, 1),
    function="asked_by_a_hook",
)  # fmt: skip
def hook_that_breaks(run: Run) -> None:
    def asked_by_a_hook(module: Any, inputs: Any) -> Any:
        if not run.remedied:
            torch._dynamo.graph_break()  # cause
        return inputs

    layer = nn.Linear(2, 2)
    layer.register_forward_pre_hook(asked_by_a_hook)
    with contextlib.nullcontext():
        run.compile(nn.Sequential(layer, nn.ReLU()))(ones(1, 2))


@case(
    "", "why-break",
    cause="Module-level backwards hooks require compiled autograd.",
    advice="compiled_autograd = True, where backward() is called in a compiled function, too",
    counts=(2, 1),
)  # fmt: skip
def hook_of_the_backward(run: Run) -> None:
    class Hooked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.layer.register_full_backward_hook(lambda module, given, got: None)

        def forward(self, x: Any) -> Any:
            doubled = x * 2
            return self.layer(doubled) + 1

    if run.remedied:
        config.compiled_autograd = True
    run.compile(Hooked())(ones(1, 2))


@case(
    "", "why-break",
    cause="Attempted to represent unregistered RemovableHandle",
    advice="register and remove hooks outside of the compiled function",
    counts=(0, 1),
)  # fmt: skip
def hook_removed_inside(run: Run) -> None:
    x = ones(4, requires_grad=True)
    handle = x.register_hook(lambda grad: grad * 2)

    @run.compile
    def unhooked(x: Any) -> Any:
        if not run.remedied:
            handle.remove()  # cause
        return x * 2

    unhooked(x)


@case(
    "", "is-guarded", expression="layer._forward_hooks",
    cause="layer._forward_hooks is not guarded",
    counts=(1, 1),
    function="Hardtanh",
    never=("_forward_hooks is guarded",),
)  # fmt: skip
def hooks_by_the_callers_name(run: Run) -> None:
    """What the caller calls `layer` is `self` where Dynamo begins."""
    layer = nn.Hardtanh()
    compiled = run.compile(layer)
    compiled(ones(2) + 1)
    if not run.remedied:
        layer.register_forward_hook(lambda module, args, result: result * 2)
    compiled(ones(2) + 1)


@case(
    "pytorch#138942", "is-guarded", expression="self.norm._forward_pre_hooks",
    cause="self.norm._forward_pre_hooks is not guarded: Dynamo makes no check of modules' hooks",
    counts=(1, 1),
)  # fmt: skip
def hook_before_a_norm(run: Run) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(3)

        def forward(self, x: Any) -> Any:
            return self.norm(x)

    net = Net()
    compiled = run.compile(net)
    compiled(ones(3))
    if not run.remedied:
        net.norm.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    compiled(ones(3))
