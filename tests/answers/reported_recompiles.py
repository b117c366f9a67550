"""Programs that are compiled again, after what people reported of libraries and models."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


def helper(x: Any) -> Any:
    return x.sin()


@case(
    "diffusion-pipe#439", "why-recompile",
    cause="length of inputs grows: 3, 4, 5",
    advice="hand over inputs always with as many elements",
    counts=(3, 1),
)  # fmt: skip
def residuals_of_a_block(run: Run) -> None:
    @run.compile
    def up_block(inputs: Any) -> Any:
        x, *residuals, scale = inputs  # cause
        for residual in residuals:
            x = x + residual
        return x * scale

    for count in (1, 2, 3):
        residuals = [ones(2) for _ in range(3 if run.remedied else count)]
        up_block((ones(2), *residuals, ones(2)))


@case(
    "pytorch#175858", "why-recompile",
    cause=("length of state changes: 1, 2", "by STORE_SUBSCR"),
    advice="state is changed by the compiled function itself",
    counts=(2, 1),
)  # fmt: skip
def loss_put_into_the_state(run: Run) -> None:
    @run.compile
    def step(state: Any) -> Any:
        state["loss"] = state["seen"].sum()  # cause
        return state

    state = {"seen": ones(3)}
    if run.remedied:
        state["loss"] = torch.tensor(0.0)
    for _ in range(3):
        step(state)


@case(
    "xDiT#781", "why-recompile",
    cause="keys of kept changes: without 'lengths', with 'lengths'",
    advice="give it the same keyword arguments in each call",
    counts=(2, 1),
)  # fmt: skip
def padding_in_the_arguments(run: Run) -> None:
    @run.compile
    def attended(x: Any, **kept: Any) -> Any:
        if kept.get("lengths") is None:  # cause
            return x * 2
        return x * kept["lengths"]

    kept: dict[str, Any] = {"lengths": ones(3)} if run.remedied else {}
    attended(ones(3), **kept)
    kept.update(lengths=ones(3))
    attended(ones(3), **kept)


@case(
    "pytorch#114293", "why-recompile",
    cause=("start grows: 2, 3, 4, 5", "by CALL 2"),
    advice="start is a symbol until",
    counts=(4, 2),
    never=("To save the entry",),
)  # fmt: skip
def partial_sums(run: Run) -> None:
    @run.compile
    def accumulated(x: Any, start: Any, end: Any) -> Any:
        if run.remedied:
            return x[start:end].sum(0)
        total = x[start]
        for at in range(start + 1, end):  # cause
            total = total + x[at]
        return total

    for start in (2, 3, 4, 5):
        accumulated(ones(10, 2), start, 9)


@case(
    "pytorch#128134", "why-recompile",
    cause="dtype of target changes: float32, bfloat16",
    advice="convert target before the call",
    counts=(2, 1),
)  # fmt: skip
def layers_under_autocast(run: Run) -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, target: Any) -> Any:
            return self.linear(target)  # cause

    first, second = Layer(), Layer()
    first.compile(backend=run)
    second.compile(backend=run)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = first(ones(2, 4, dtype=torch.bfloat16 if run.remedied else torch.float32))
        second(x.detach())


@case(
    "pytorch#132849", "why-recompile",
    cause="longest changes: 33, 34",
    advice="To save the entry for its first value: torch.compile(dynamic=True)",
    counts=(2, 1),
    never=("allow_unspec_int_on_nn_module",),
)  # fmt: skip
def longest_sequence(run: Run) -> None:
    def decode(x: Any, longest: Any) -> Any:
        return x + torch.zeros(longest).sum()  # cause

    compiled = run.compile(decode, dynamic=True if run.remedied else None)
    for longest in (33, 34, 35, 36):
        compiled(ones(2), longest)


@case(
    "peft#2177", "why-recompile",
    cause="self.scaling['first'] changes: 0.5, 1.0",
    advice="or keep it in a tensor",
    counts=(2, 1),
)  # fmt: skip
def scaling_of_an_adapter(run: Run) -> None:
    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scaling: dict[str, Any] = {"first": torch.tensor(0.5) if run.remedied else 0.5}
            self.adapter = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return x + self.adapter(x) * self.scaling["first"]  # cause

    model = Adapted()
    compiled = run.compile(model)
    for scaling in (0.5, 1.0, 2.0):
        if run.remedied:
            model.scaling["first"].fill_(scaling)
        else:
            model.scaling["first"] = scaling
        compiled(ones(4))


@case(
    "pytorch#150702", "why-recompile",
    cause="fails: latent.shape[2] == latent.shape[1]",
    advice="use_duck_shape = False",
    counts=(2, 1),
)  # fmt: skip
def height_and_width(run: Run) -> None:
    def positions(latent: Any) -> Any:
        height, width = latent.shape[-2:]  # cause
        rows, columns = torch.arange(height), torch.arange(width)
        return latent * rows[:, None] + columns

    compiled = run.compile(positions, dynamic=True)
    with torch.fx.experimental._config.patch(use_duck_shape=not run.remedied):
        compiled(ones(4, 8, 8))
        compiled(ones(4, 12, 6))


@case(
    "pytorch#174541", "why-recompile",
    cause=("self.key changes: 0.1, 0.2, 0.3", "by BINARY_SUBSCR"),
    advice="self.key is a symbol until",
    counts=(3, 1),
    never=("To save the entry",),
)  # fmt: skip
def modules_with_float_keys(run: Run) -> None:
    cache = {0.1: ones(2), 0.2: ones(2), 0.3: ones(2)}

    class Cached(nn.Module):
        def __init__(self, key: float) -> None:
            super().__init__()
            self.key = key
            self.found = cache[key]

        def forward(self, x: Any) -> Any:
            return x * (self.found if run.remedied else cache[self.key])  # cause

    for key in cache:
        run.compile(Cached(key))(ones(2))


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
    "pytorch#121504", "why-recompile",
    cause="self.local_mask changes: None, <Tensor>",
    advice="until the compiled function sets it itself at",
    counts=(2, 1),
)  # fmt: skip
def mask_that_is_made_later(run: Run) -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.local_mask: Any = ones(3) if run.remedied else None

        def forward(self, x: Any) -> Any:
            if self.local_mask is None:  # cause
                self.local_mask = x > 0
            return x * self.local_mask

    attention = run.compile(Attention())
    for _ in range(3):
        attention(ones(3))


@case(
    "pytorch#108898", "why-recompile",
    cause="object of helper.__code__ changes",
    advice="helper is another function in one call than in another",
    counts=(2, 1),
)  # fmt: skip
def global_function_replaced(run: Run) -> None:
    global helper

    @run.compile
    def helped(x: Any) -> Any:
        return helper(x) + 1  # cause

    before = helper
    helped(ones(2))
    if not run.remedied:
        helper = lambda x: x.cos()
    helped(ones(2))
    helper = before


@case(
    "pytorch#163093", "why-recompile",
    cause="type of self.param_groups[0]['lr'] changes: Tensor, float",
    advice="Keep self.param_groups[0]['lr'] of one type",
    counts=(2, 1),
    function="RMSprop.step",
)  # fmt: skip
def plateau(run: Run) -> None:
    weight = ones(2, requires_grad=True)
    weight.grad = ones(2)
    optimizer = torch.optim.RMSprop([weight], lr=torch.tensor(0.1), foreach=False)
    stepped = run.compile(optimizer.step)
    group = optimizer.param_groups[0]
    for _ in range(3):
        stepped()
        lower = float(group["lr"]) * 0.5
        if run.remedied:
            group["lr"].fill_(lower)
        else:
            group["lr"] = lower


@case(
    "pytorch#133898", "why-recompile",
    cause="self.param_groups[0]['betas'][0] changes: 0.95, 0.8999999999999999",
    advice="torch.compile(dynamic=True)",
    counts=(2, 1),
    function="Adamax.step",
)  # fmt: skip
def cycle_of_the_betas(run: Run) -> None:
    weight = ones(2, requires_grad=True)
    weight.grad = ones(2)
    optimizer = torch.optim.Adamax([weight], lr=torch.tensor(0.1), foreach=False)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10)
    stepped = run.compile(optimizer.step, dynamic=True if run.remedied else None)
    for _ in range(4):
        stepped()
        scheduler.step()


@case(
    "pytorch#135011", "why-recompile",
    cause="type of x changes: Tensor, Parameter",
    advice="Pass x always as the same type",
    counts=(2, 1),
)  # fmt: skip
def parameter_or_tensor(run: Run) -> None:
    @run.compile
    def quantized(x: Any) -> Any:
        return x.round()  # cause

    x = ones(2, 2)
    quantized(x)
    quantized(x if run.remedied else nn.Parameter(x, requires_grad=False))


@case(
    "deeplink.framework#607", "why-recompile",
    cause=("function_modes changes: none, DeviceContext", "default_device changes: None, cpu"),
    advice="Set the default device once",
    counts=(2, 1),
)  # fmt: skip
def device_that_is_set_between(run: Run) -> None:
    @run.compile
    def with_zeros(x: Any) -> Any:
        return x + torch.zeros(3)

    with_zeros(ones(3))
    torch.set_default_device(None if run.remedied else "cpu")
    with_zeros(ones(3))
    torch.set_default_device(None)


@case(
    "pytorch#149743", "why-recompile",
    cause="DIMENSION_DYNAMIC_MARKING_GUARD L['x']",
    advice="Mark the dimensions of x before the first call",
    counts=(2, 1),
)  # fmt: skip
def marks_that_come_later(run: Run) -> None:
    def plus_one(x: Any) -> Any:
        return x + 1  # cause

    compiled = run.compile(plus_one, dynamic=True)
    x = ones(10, 10)
    for marked in (run.remedied, True):
        if marked:
            torch._dynamo.mark_dynamic(x, [0, 1])
        compiled(x)


@case(
    "", "why-recompile",
    cause=("past changes: 0, 1", "Ne(8 - past, 8)"),
    advice="0 takes an entry of its own all the same",
    counts=(2, 1),
    never=("dynamic=True",),
)  # fmt: skip
def position_from_zero(run: Run) -> None:
    def decoded(x: Any, past: int) -> Any:
        return x[:, past:] * past  # cause

    compiled = run.compile(decoded, dynamic=True if run.remedied else None)
    for past in range(run.remedied, 4):
        compiled(ones(2, 8), past)


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
    "pytorch#172382", "why-recompile",
    cause=("more of added changes: 2, 3", "inner: return x + n + more"),
    advice="Dynamo has made more of added an input of the graph by itself",
    counts=(2, 1),
    never=("__closure__[1] changes", "n of added"),
)  # fmt: skip
def number_that_is_closed_over(run: Run) -> None:
    """Of two variables of a closure that is handed over, which one is it?"""

    def adding(n: int, more: int) -> Any:
        def inner(x: Any) -> Any:
            return x + n + more  # cause

        return inner

    def applied(added: Any, x: Any) -> Any:
        return added(x)

    compiled = run.compile(applied, dynamic=True if run.remedied else None)
    for more in (2, 3):
        compiled(adding(0, more), ones(3))


@case(
    "pytorch#191833", "why-recompile",
    cause=("x.shape[0] <= x.shape[1] does not hold", "if not run.remedied and high > wide:"),
    advice="The entry requires x.shape[0] <= x.shape[1], which",
    counts=(2, 1),
)  # fmt: skip
def one_side_is_longer(run: Run) -> None:
    """What fails is about two sizes: neither is the one that changed."""

    def by_its_sides(x: Any) -> Any:
        high, wide = x.shape
        if not run.remedied and high > wide:  # cause
            return x + 1
        return x - 1

    compiled = run.compile(by_its_sides, dynamic=True)
    for sides in ((4, 6), (6, 4)):
        compiled(ones(*sides))
