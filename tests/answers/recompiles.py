"""Programs whose functions are compiled again, as people reported them."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#128319", "why-recompile",
    cause="self.counter grows: 0, 1, 2",
    advice="allow_unspec_int_on_nn_module",
    counts=(8, 2),
)  # fmt: skip
def counter_of_a_module(run: Run) -> None:
    class CountingModule(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.counter = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.counter += 1  # cause
            return x * self.counter

    torch._dynamo.config.allow_unspec_int_on_nn_module = run.remedied
    model = run.compile(CountingModule())
    for _ in range(8):
        model(ones(2))


@case(
    "pytorch#149405", "why-recompile",
    cause="scale changes: 1.5, 2.5",
    advice="has made scale an input of the graph by itself. To save the entry for its first value",
    counts=(2, 1),
)  # fmt: skip
def float_argument(run: Run) -> None:
    @run.compile
    def scaled_by_float(x: Any, scale: Any) -> Any:
        return x * scale  # cause

    for scale in (1.5, 2.5, 3.5):
        scaled_by_float(ones(2), torch.tensor(scale) if run.remedied else scale)


@case(
    "torchdynamo#330", "why-recompile",
    cause="length of alignments grows: 0, 1, 2, 3",
    advice="The length of a container",
    counts=(4, 1),
)  # fmt: skip
def list_that_grows(run: Run) -> None:
    @run.compile
    def decode_step(x: Any, alignments: Any) -> Any:
        if len(alignments) > 100:  # cause
            return x
        return x + 1

    alignments: list[torch.Tensor] = []
    for _ in range(4):
        alignments.append(decode_step(ones(2), () if run.remedied else alignments))


@case(
    "tensordict#1606", "why-recompile",
    cause="length of tensors grows: 1, 2, 3, 4",
    advice="same keys",
    counts=(4, 1),
    never=("stacked tensor",),
)  # fmt: skip
def dict_with_more_keys(run: Run) -> None:
    @run.compile
    def summed_dict(tensors: Any) -> Any:
        total = tensors["k0"]  # cause
        for name in tensors:
            total = total + tensors[name]
        return total

    for count in range(1, 5):
        summed_dict({f"k{each}": ones(2) for each in range(4 if run.remedied else count)})


@case(
    "pytorch#127483", "why-recompile",
    cause="_variable grows: 0, 1, 2",
    advice="An int that is a global is a constant of the graph",
    counts=(3, 1),
    never=("Dynamo makes an int argument a symbol",),
)  # fmt: skip
def global_counter(run: Run) -> None:
    globals()["_variable"] = torch.tensor(0) if run.remedied else 0

    @run.compile
    def reads_a_global(x: Any) -> Any:
        return x + _variable  # cause

    for value in range(3):
        globals()["_variable"] = torch.tensor(value) if run.remedied else value
        reads_a_global(ones(2))


_variable: Any = 0


@case(
    "ComfyUI-MochiWrapper#44", "why-recompile",
    cause="packed['most'] changes: 31868, 28000",
    advice="has made packed['most'] an input of the graph by itself",
    counts=(2, 1),
    never=("allow_unspec_int_on_nn_module", "Dynamo makes an int argument a symbol"),
)  # fmt: skip
def int_in_a_dict(run: Run) -> None:
    @run.compile
    def attend(x: Any, packed: Any) -> Any:
        return x * packed["most"]  # cause

    for most in (31868, 28000, 26000):
        attend(ones(2), {"most": torch.tensor(most) if run.remedied else most})


@case(
    "pytorch#148983", "why-recompile",
    cause="inference of x changes: True, False",
    advice="x was made under torch.inference_mode, or handed over there",
    counts=(2, 1),
)  # fmt: skip
def inference_tensor(run: Run) -> None:
    @run.compile
    def sine(x: Any) -> Any:
        return x.sin()  # cause

    with torch.inference_mode():
        made_inside = ones(2)
    sine(made_inside.clone() if run.remedied else made_inside)
    sine(ones(2))


@case(
    "pytorch#136450", "why-recompile",
    cause="grad_mode changes: True, False",
    advice="one state",
    counts=(2, 1),
)  # fmt: skip
def without_gradients(run: Run) -> None:
    @run.compile
    def cosine(x: Any) -> Any:
        return x.cos()

    cosine(ones(2))
    with torch.set_grad_enabled(run.remedied):
        cosine(ones(2))


@case(
    "pytorch#128964", "why-recompile",
    cause="object of function.__code__ changes",
    advice="function is a function with code of its own each time",
    counts=(3, 1),
)  # fmt: skip
def lambda_made_each_time(run: Run) -> None:
    @run.compile
    def applied(x: Any, function: Any) -> Any:
        return function(x)  # cause

    def double(x: Any) -> Any:
        return x * 2

    for number in range(3):
        namespace: dict[str, Any] = {}
        exec(f"made = lambda x: x * {number + 2}", namespace)
        applied(ones(2), double if run.remedied else namespace["made"])


@case(
    "pytorch#134954", "why-recompile",
    cause="net.b changes: 1.0, 2.0",
    advice="has made net.b an input of the graph by itself",
    counts=(2, 1),
)  # fmt: skip
def modules_with_other_floats(run: Run) -> None:
    class Shift(nn.Module):
        def __init__(self, b: Any) -> None:
            super().__init__()
            if run.remedied:
                self.register_buffer("b", torch.tensor(b))
            else:
                self.b = b

        def forward(self, x: Any) -> Any:
            return (x.sin() + self.b).sin()  # cause

    @run.compile
    def through_a_net(net: Any, x: Any) -> Any:
        return net(x)

    for b in (1.0, 2.0, 3.0):
        through_a_net(Shift(b), ones(2))


@case(
    "pytorch#107076", "why-recompile",
    cause="self.param_groups[0]['lr'] changes: 0.1, 0.05",
    advice="keep it in a tensor",
    counts=(2, 1),
    function="Adadelta.step",
)  # fmt: skip
def learning_rate(run: Run) -> None:
    weight = torch.ones(2, requires_grad=True)
    weight.grad = torch.ones(2)
    first = torch.tensor(0.1) if run.remedied else 0.1
    optimizer = torch.optim.Adadelta([weight], lr=first, foreach=False)

    @run.compile
    def optimizer_step() -> None:
        optimizer.step()

    for lr in (0.1, 0.05, 0.025):
        group = optimizer.param_groups[0]
        if run.remedied:
            group["lr"].fill_(lr)
        else:
            group["lr"] = lr
        optimizer_step()


@case(
    "torchdynamo#281", "why-recompile",
    cause="x.shape[0] changes: 20, 19",
    advice="torch._dynamo.mark_dynamic(x, 0) before the first call",
    counts=(2, 1),
    never=("Make x.shape[0] a symbol",),
)  # fmt: skip
def batches_of_other_sizes(run: Run) -> None:
    @run.compile
    def plus_itself(x: Any) -> Any:
        return x + x  # cause

    for size in (20, 19, 18, 17):
        x = ones(size, 3)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        plus_itself(x)


@case(
    "pytorch#141589", "why-recompile",
    cause="x.shape[1] changes: 64, 1, 68",
    advice="mark_unbacked(x, 1) before the first call.",
    counts=(3, 1),
    never=("mark_dynamic",),
)  # fmt: skip
def prompt_and_single_token(run: Run) -> None:
    @run.compile
    def next_token(x: Any) -> Any:
        return x * 2  # cause

    for size in (64, 1, 68):
        x = ones(1, size)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(x, 1)
        next_token(x)


@case(
    "", "why-recompile",
    cause="mode changes: 'bilinear', 'nearest'",
    advice="Each value of mode is compiled by itself",
    counts=(2, 2),
)  # fmt: skip
def text_argument(run: Run) -> None:
    @run.compile
    def resized(x: Any, mode: Any) -> Any:
        return x * 2 if mode == "nearest" else x * 3  # cause

    for mode in ("bilinear", "nearest", "bilinear"):
        resized(ones(2), mode)


@case(
    "", "why-recompile",
    cause="requires_grad of x changes",
    advice="detach()",
    counts=(2, 1),
)  # fmt: skip
def frozen_and_not(run: Run) -> None:
    @run.compile
    def layer(x: Any) -> Any:
        return x * 2  # cause

    layer(ones(2))
    trained = ones(2, requires_grad=True)
    layer(trained.detach() if run.remedied else trained)


@case(
    "", "why-recompile",
    cause="dtype of x changes: float32, float64",
    advice="convert x before the call",
    counts=(2, 1),
)  # fmt: skip
def other_dtype(run: Run) -> None:
    @run.compile
    def normalized(x: Any) -> Any:
        return x / x.sum()  # cause

    normalized(ones(2))
    second = ones(2, dtype=torch.float64)
    normalized(second.float() if run.remedied else second)


@case(
    "", "why-recompile",
    cause="stride[1] of x changes: 16, 1",
    advice="contiguous",
    counts=(2, 1),
)  # fmt: skip
def channels_last(run: Run) -> None:
    @run.compile
    def convolved(x: Any) -> Any:
        return x * 2  # cause

    convolved(ones(2, 3, 4, 4))
    second = ones(2, 3, 4, 4).to(memory_format=torch.channels_last)
    convolved(second.contiguous() if run.remedied else second)


@case(
    "pytorch#171593", "why-recompile",
    cause="self.key changes",
    advice="Each value of self.key is compiled by itself",
    counts=(3, 3),
)  # fmt: skip
def modules_with_other_keys(run: Run) -> None:
    class ByKey(nn.Module):
        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

        def forward(self, x: Any) -> Any:
            return {"out": x[self.key] * 2}  # cause

    for key in ("a", "b", "c"):
        run.compile(ByKey(key))({key: ones(2)})


@case(
    "pytorch#163329", "why-recompile",
    cause="object of self.processor.__code__ changes",
    advice="define it once",
    counts=(3, 1),
)  # fmt: skip
def processors_of_blocks(run: Run) -> None:
    class Processor:
        def __call__(self, x: Any) -> Any:
            return x * 2

    shared = Processor()

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.processor = shared if run.remedied else _processor()

        def forward(self, x: Any) -> Any:
            return self.processor(x)  # cause

    for _ in range(3):
        run.compile(Block())(ones(2))


def _processor() -> Any:
    """A function of its own, with code of its own, as those that are made by exec."""
    namespace: dict[str, Any] = {}
    exec("def processor(x): return x * 2", namespace)
    return namespace["processor"]


@case(
    "", "why-recompile",
    cause="backend changes",
    advice="Use one backend object",
    counts=(3, 1),
)  # fmt: skip
def backend_given_anew(run: Run) -> None:
    def inner(x: Any) -> Any:
        return x * 2

    def backend(graph: Any, inputs: Any) -> Any:
        return run(graph, inputs)

    for _ in range(3):
        used = run if run.remedied else functools.partial(backend)
        torch.compile(inner, backend=used)(ones(2))


@case(
    "", "why-recompile",
    cause="type of states changes",
    advice="same type",
    counts=(2, 1),
)  # fmt: skip
def list_or_tuple(run: Run) -> None:
    @run.compile
    def of_states(states: Any) -> Any:
        return states[0] + states[1]  # cause

    of_states([ones(2), ones(2)])
    second = (ones(2), ones(2))
    of_states(list(second) if run.remedied else second)


@case(
    "", "why-recompile",
    cause="y is the same tensor as x",
    advice="clone",
    counts=(2, 1),
)  # fmt: skip
def one_tensor_twice(run: Run) -> None:
    @run.compile
    def pair_sum(x: Any, y: Any) -> Any:
        x.add_(1)
        return x + y  # cause

    x, y = ones(2), ones(2)
    pair_sum(x, y)
    pair_sum(x, x.clone() if run.remedied else x)


@case(
    "", "why-recompile",
    cause="rank of x changes: 2, 3",
    advice="reshape x to one rank",
    counts=(2, 1),
)  # fmt: skip
def other_rank(run: Run) -> None:
    @run.compile
    def of_ranks(x: Any) -> Any:
        return x + 1  # cause

    of_ranks(ones(2, 3))
    second = ones(2, 3, 1)
    of_ranks(second.squeeze(-1) if run.remedied else second)


@case(
    "", "why-recompile",
    cause="self.training changes: True, False",
    advice="Whether a module is in training is a constant of the graph",
    counts=(2, 2),
    never=("min", "tensor"),
)  # fmt: skip
def trained_and_evaluated(run: Run) -> None:
    class Dropped(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if self.training else x * 3  # cause

    model = Dropped()
    compiled = run.compile(model)
    compiled(ones(2))
    model.eval()
    compiled(ones(2))


@dataclasses.dataclass
class Config:
    """What is handed over by people who like order."""

    alpha: Any


@case(
    "", "why-recompile",
    cause="config.alpha changes: 0.1, 0.2",
    advice="keep it in a tensor",
    counts=(2, 1),
)  # fmt: skip
def float_in_a_dataclass(run: Run) -> None:
    @run.compile
    def configured(x: Any, config: Any) -> Any:
        return x * config.alpha  # cause

    for alpha in (0.1, 0.2, 0.3):
        configured(ones(2), Config(torch.tensor(alpha) if run.remedied else alpha))


@case(
    "", "why-recompile",
    cause="function.__defaults__[0] grows: 1, 2, 3",
    advice="the default of a function's argument is a constant",
    counts=(3, 1),
    never=("allow_unspec_int_on_nn_module",),
)  # fmt: skip
def lambda_with_a_default(run: Run) -> None:
    made = [lambda x, level=level: x * level for level in (1, 2, 3)]  # cause

    def bound(level: Any) -> Any:
        return lambda x: x * level

    @run.compile
    def called(x: Any, function: Any) -> Any:
        return function(x)

    for function in made:
        called(ones(2), bound(torch.tensor(2)) if run.remedied else function)


@case(
    "", "why-recompile",
    cause="step changes: 1, 2",
    advice="To save the entry for its first value: torch.compile(dynamic=True)",
    counts=(2, 1),
    never=("Pass step as a tensor", "other values fit now", "stays"),
)  # fmt: skip
def int_argument(run: Run) -> None:
    def at_step(x: Any, step: Any) -> Any:
        return x * step  # cause

    compiled = run.compile(at_step, dynamic=True if run.remedied else None)
    for step in (1, 2, 3, 4):
        compiled(ones(2), step)


@case(
    "", "why-recompile",
    cause="weight changes: 2.0, 3.0",
    advice="keep it in a tensor",
    counts=(2, 1),
)  # fmt: skip
def closure_over_an_int(run: Run) -> None:
    def maker(weight: Any) -> Any:
        def weighted(x: Any) -> Any:
            return x * weight  # cause

        return weighted

    for weight in (2.0, 3.0, 4.0):
        given = torch.tensor(weight) if run.remedied else weight
        run.compile(maker(given))(ones(2))


@case(
    "", "why-recompile",
    cause="layer grows: 5, 6, 7, 8",
    advice="layer is a symbol until",
    counts=(4, 2),
    never=("Pass layer as a tensor",),
)  # fmt: skip
def int_as_an_index(run: Run) -> None:
    weights = [ones(2)] * 10
    stacked = torch.stack(weights)

    @run.compile
    def of_layer(x: Any, layer: Any) -> Any:
        if run.remedied:
            return x * stacked[layer]
        return x * weights[layer]  # cause

    for layer in (5, 6, 7, 8):
        of_layer(ones(2), layer)


@case(
    "", "why-recompile",
    cause="times grows: 5, 6, 7",
    advice="times is a symbol until",
    counts=(3, 2),
)  # fmt: skip
def int_as_a_bound(run: Run) -> None:
    @run.compile
    def repeated(x: Any, times: Any) -> Any:
        if run.remedied:
            return x + times
        for _ in range(times):  # cause
            x = x + 1
        return x

    for times in (5, 6, 7):
        repeated(ones(2), times)


@case(
    "", "why-recompile",
    cause="times changes: 5, 6",
    advice="To save the entry for its first value: torch.compile(dynamic=True)",
    counts=(2, 1),
)  # fmt: skip
def int_that_is_computed_with(run: Run) -> None:
    def multiplied(x: Any, times: Any) -> Any:
        return x * times  # cause

    compiled = run.compile(multiplied, dynamic=True if run.remedied else None)
    for times in (5, 6, 7):
        compiled(ones(2), times)


@case(
    "", "why-recompile",
    cause="object of function changes: torch.relu, torch.sin, torch.cos",
    advice="Each object that is handed over as function is compiled by itself",
    counts=(3, 3),
    never=("is another object each time",),
)  # fmt: skip
def functions_of_torch(run: Run) -> None:
    @run.compile
    def activated(x: Any, function: Any) -> Any:
        return function(x)  # cause

    for function in (torch.relu, torch.sin, torch.cos):
        activated(ones(2), function)


@case(
    "pytorch#141589", "why-recompile",
    cause="fails: 2 <= x.shape[0]",
    advice="mark_unbacked",
    counts=(2, 1),
)  # fmt: skip
def single_row(run: Run) -> None:
    def of_rows(x: Any) -> Any:
        return x * 2  # cause

    compiled = run.compile(of_rows, dynamic=None if run.remedied else True)
    for size in (4, 1):
        x = ones(size, 3)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(x, 0)
        compiled(x)


@case(
    "pytorch#134249", "why-recompile",
    cause=(
        "inference_mode changes: False, True",
        "keys for gradients of x: expected there, actual taken away by inference mode",
    ),
    advice="Call it under one state: always the same inference mode",
    counts=(2, 1),
    never=("of x changes",),
)  # fmt: skip
def trained_then_served(run: Run) -> None:
    class Weights(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Parameter(ones(2)), nn.Parameter(ones(2))

        def forward(self, x: Any) -> Any:
            return x * self.first + self.second  # cause

    compiled = run.compile(Weights())
    x = ones(2)
    with torch.inference_mode(run.remedied):
        compiled(x)
    with torch.inference_mode():
        compiled(x)


@case(
    "", "why-recompile",
    cause="NO_HASATTR L['cache']",
    advice="cache has an attribute in one call that it has not in another",
    counts=(2, 1),
)  # fmt: skip
def attribute_that_appears(run: Run) -> None:
    class Cache:
        pass

    cache = Cache()
    if run.remedied:
        cache.scale = 2.0  # type: ignore[attr-defined]

    @run.compile
    def of_cache(x: Any, cache: Any) -> Any:
        if hasattr(cache, "scale"):  # cause
            return x * 3
        return x * 2

    of_cache(ones(2), cache)
    cache.scale = 2.0  # type: ignore[attr-defined]
    of_cache(ones(2), cache)


@case(
    "", "why-recompile",
    cause="mask changes: None, <Tensor>",
    advice="There is an entry for mask being None, and one for something else",
    counts=(2, 1),
)  # fmt: skip
def mask_or_none(run: Run) -> None:
    @run.compile
    def masked(x: Any, mask: Any) -> Any:
        return x * 2 if mask is None else x * mask  # cause

    for mask in (None, ones(2)):
        masked(ones(2), ones(2) if run.remedied else mask)


@case(
    "", "why-recompile",
    cause="keys of cache.__dict__ changes: without 'seen', with 'seen'",
    advice="has an attribute in one call that it has not in another: set all of them",
    counts=(2, 1),
)  # fmt: skip
def attribute_that_hides_that_of_the_class(run: Run) -> None:
    class Cache:
        seen = 2

    @run.compile
    def of_seen(x: Any, cache: Any) -> Any:
        return x * cache.seen  # cause

    cache = Cache()
    if run.remedied:
        cache.seen = 2
    of_seen(ones(4), cache)
    cache.seen = 2
    of_seen(ones(4), cache)
