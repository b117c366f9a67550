"""Programs that are compiled again because of what is around a call: objects, modes, functions."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#143670", "why-recompile",
    cause=("numbers[1] is not there", "it has no key 1"),
    advice="always with the same keys",
    counts=(2, 1),
)  # fmt: skip
def key_in_a_dict(run: Run) -> None:
    @run.compile
    def depends_on_a_key(x: Any, numbers: Any, number: Any) -> Any:
        return x + 1 if number in numbers else x + 2  # cause

    for numbers in ({1: "1"}, {1: "1", 2: "2"}, {2: "2"}):
        depends_on_a_key(ones(2), {1: "1"} if run.remedied else numbers, 1)


@case(
    "pytorch#167504", "why-recompile",
    cause="type of self changes",
    advice="make the class once, outside",
    never=("a list and a tuple",),
    counts=(3, 1),
)  # fmt: skip
def class_made_in_a_loop(run: Run) -> None:
    def made() -> type[nn.Module]:
        class Net(nn.Module):
            def forward(self, x: Any) -> Any:
                return x * 2 if self.training else x  # cause

        return Net

    once = made()
    for _ in range(3):
        run.compile((once if run.remedied else made())())(ones(2))


@case(
    "pytorch#120934", "why-recompile",
    cause="self.param_groups[0]['lr'] changes",
    advice="has made self.param_groups[0]['lr'] an input of the graph by itself",
    counts=(2, 1),
    function="Adam.step",
)  # fmt: skip
def scheduled_adam(run: Run) -> None:
    weight = torch.ones(2, requires_grad=True)
    weight.grad = torch.ones(2)
    lr = torch.tensor(0.1) if run.remedied else 0.1
    optimizer = torch.optim.AdamW([weight], lr=lr, foreach=False)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    stepped = run.compile(optimizer.step)
    for _ in range(3):
        stepped()
        scheduler.step()


@case(
    "Advanced_Optimizers#6", "why-recompile",
    cause="state['step'] changes: 0, 1",
    advice="has made state['step'] an input of the graph by itself",
    counts=(2, 1),
)  # fmt: skip
def step_in_a_dict(run: Run) -> None:
    state: dict[str, Any] = {"step": torch.tensor(0) if run.remedied else 0}

    @run.compile
    def counts_steps(x: Any, state: Any) -> Any:
        state["step"] += 1  # cause
        return x * state["step"]

    for _ in range(4):
        counts_steps(ones(2), state)


@case(
    "pytorch#194754", "why-recompile",
    cause="object of cast changes",
    advice="make it once, outside",
    counts=(3, 1),
)  # fmt: skip
def autocast_handed_over(run: Run) -> None:
    @run.compile
    def under_a_cast(x: Any, cast: Any) -> Any:
        with cast:  # cause
            return x @ x

    once = torch.autocast("cpu", dtype=torch.bfloat16)
    kept = []
    for _ in range(3):
        kept.append(once if run.remedied else torch.autocast("cpu", dtype=torch.bfloat16))
        under_a_cast(ones(2, 2), kept[-1])


@case(
    "", "why-recompile",
    cause="autocast(cpu) changes: off, bfloat16",
    advice="one state",
    never=("comes in different kinds",),
    counts=(2, 1),
)  # fmt: skip
def with_autocast_and_without(run: Run) -> None:
    @run.compile
    def multiplied_by_itself(x: Any) -> Any:
        return x @ x

    with torch.autocast("cpu", enabled=run.remedied):
        multiplied_by_itself(ones(2, 2))
    with torch.autocast("cpu"):
        multiplied_by_itself(ones(2, 2))


class Mode(enum.Enum):
    """How an image is made larger."""

    NEAREST = 1
    LINEAR = 2


@case(
    "", "why-recompile",
    cause="object of mode changes: Mode.NEAREST, Mode.LINEAR",
    advice="If there are few, that is the price",
    counts=(2, 2),
    never=("is another object each time",),
)  # fmt: skip
def member_of_an_enum(run: Run) -> None:
    @run.compile
    def enlarged(x: Any, mode: Any) -> Any:
        return x * 2 if mode is Mode.NEAREST else x * 3  # cause

    for mode in (Mode.NEAREST, Mode.LINEAR, Mode.NEAREST):
        enlarged(ones(2), mode)


@case(
    "", "why-recompile",
    cause="options",
    advice="give it the same keyword arguments in each call",
    counts=(2, 1),
)  # fmt: skip
def keyword_that_is_not_always_given(run: Run) -> None:
    @run.compile
    def with_options(x: Any, **options: Any) -> Any:
        return x * options.get("scale", 1)  # cause

    with_options(ones(2), **({"scale": 2} if run.remedied else {}))
    with_options(ones(2), scale=2)


@case(
    "", "why-recompile",
    cause="list(tensors)[0] changes: 'a', 'b'",
    advice="with the same keys in the same order",
    never=("branching on it",),
    counts=(2, 1),
)  # fmt: skip
def order_of_a_dict(run: Run) -> None:
    @run.compile
    def in_order(tensors: Any) -> Any:
        total = None
        for name in tensors:  # cause
            total = tensors[name] if total is None else total - tensors[name]
        return total

    in_order({"a": ones(2), "b": ones(2)})
    second = {"b": ones(2), "a": ones(2)}
    in_order(dict(sorted(second.items())) if run.remedied else second)


@case(
    "", "why-recompile",
    cause="names changes",
    advice="Each value of names is compiled by itself",
    counts=(2, 1),
)  # fmt: skip
def member_of_a_set(run: Run) -> None:
    @run.compile
    def if_named(x: Any, names: Any) -> Any:
        return x * 2 if "scale" in names else x  # cause

    if_named(ones(2), {"scale"})
    if_named(ones(2), {"scale"} if run.remedied else {"scale", "shift"})


@case(
    "", "why-recompile",
    cause="function_modes changes: none, DeviceContext",
    advice="Set the default device once",
    never=("same torch function modes",),
    counts=(2, 1),
)  # fmt: skip
def default_device_set_late(run: Run) -> None:
    @run.compile
    def adds_zeros(x: Any) -> Any:
        return x + torch.zeros(2)

    try:
        torch.set_default_device("cpu" if run.remedied else None)
        adds_zeros(ones(2))
        torch.set_default_device("cpu")
        adds_zeros(ones(2))
    finally:
        torch.set_default_device(None)


@case(
    "", "why-recompile",
    cause="device of x changes: cpu, meta",
    advice="Move x to one device",
    counts=(2, 1),
)  # fmt: skip
def other_device(run: Run) -> None:
    @run.compile
    def squared(x: Any) -> Any:
        return x * x  # cause

    squared(ones(2))
    squared(ones(2, device="cpu" if run.remedied else "meta"))


@case(
    "", "why-recompile",
    cause="self.index grows: 0, 1, 2, 3",
    advice="take the element outside of the compiled function, and hand that over",
    never=("= True does without",),
    counts=(4, 1),
)  # fmt: skip
def numbers_of_layers(run: Run) -> None:
    class Layer(nn.Module):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

        def forward(self, x: Any, caches: Any) -> Any:
            return x + caches[0 if run.remedied else self.index]  # cause

    layers = nn.ModuleList([Layer(index) for index in range(4)])
    for layer in layers:
        layer.compile(backend=run)
    caches = [ones(2)] * 4
    for layer in layers:
        layer(ones(2), caches)


@case(
    "", "why-recompile",
    cause="deterministic_algorithms changes: False, True",
    advice="one state",
    counts=(2, 1),
)  # fmt: skip
def deterministic_later(run: Run) -> None:
    @run.compile
    def cubed(x: Any) -> Any:
        return x**3

    try:
        torch.use_deterministic_algorithms(run.remedied)
        cubed(ones(2))
        torch.use_deterministic_algorithms(True)
        cubed(ones(2))
    finally:
        torch.use_deterministic_algorithms(False)


@case(
    "", "why-recompile",
    cause="function_modes changes: Passing, none",
    advice="same torch function modes",
    counts=(2, 1),
)  # fmt: skip
def under_a_function_mode(run: Run) -> None:
    from torch.overrides import TorchFunctionMode

    class Passing(TorchFunctionMode):
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return function(*args, **(kwargs or {}))

    @run.compile
    def negated(x: Any) -> Any:
        return -x

    with Passing():
        negated(ones(2))
    if run.remedied:
        with Passing():
            negated(ones(2))
    else:
        negated(ones(2))


@case(
    "", "why-recompile",
    cause="x changes",
    advice="Mark the dimensions of x",
    counts=(2, 1),
)  # fmt: skip
def marked_later(run: Run) -> None:
    @run.compile
    def thrice(x: Any) -> Any:
        return x * 3  # cause

    for number in range(2):
        x = ones(4)
        if run.remedied or number:
            torch._dynamo.mark_dynamic(x, 0)
        thrice(x)


class Hyper(NamedTuple):
    """What is handed over with names."""

    scale: Any
    shift: Any


@case(
    "", "why-recompile",
    cause="hyper.scale changes: 0.1, 0.2",
    advice="has made hyper.scale an input of the graph by itself",
    counts=(2, 1),
)  # fmt: skip
def float_in_a_namedtuple(run: Run) -> None:
    @run.compile
    def scaled_and_shifted(x: Any, hyper: Any) -> Any:
        return x * hyper.scale + hyper.shift  # cause

    for scale in (0.1, 0.2, 0.3):
        given = torch.tensor(scale) if run.remedied else scale
        scaled_and_shifted(ones(2), Hyper(given, ones(2)))


class Tagged(torch.Tensor):
    """A tensor with a class of its own."""


@case(
    "", "why-recompile",
    cause="type of x changes: Tensor, tests.answers.state.Tagged",
    advice="always as the same type",
    counts=(2, 1),
    never=("a list and a tuple", "make the class once"),
)  # fmt: skip
def subclass_and_not(run: Run) -> None:
    @run.compile
    def halved(x: Any) -> Any:
        return x / 2  # cause

    halved(ones(2))
    second = ones(2).as_subclass(Tagged)
    halved(second.as_subclass(torch.Tensor) if run.remedied else second)


@case(
    "", "why-recompile",
    cause="part.stop changes: 2, 3",
    advice="To save the entry for its first value: torch.compile(dynamic=True).",
    never=("keep it in a tensor",),
    counts=(2, 1),
)  # fmt: skip
def end_of_a_slice(run: Run) -> None:
    """Tensors as ends would break the graph."""

    def sliced(x: Any, part: slice) -> Any:
        return x[part] * 2  # cause

    compiled = run.compile(sliced, dynamic=True if run.remedied else None)
    for stop in (2, 3, 4):
        compiled(ones(9), slice(0, stop))
