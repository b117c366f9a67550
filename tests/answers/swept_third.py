"""Programs of a third sweep through public reports, of which an answer was wrong or its remedy was
none."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn
from torch.testing._internal.distributed.fake_pg import FakeStore

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="the program decides by what comes of this, which is data",
    counts=(0, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def truth_of_an_object(run: Run) -> None:
    """Python asks the object, and that the tensor."""

    class Flag:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __bool__(self) -> bool:
            return bool(self.tensor.sum() > 0)  # cause

    @run.compile
    def doubled_if_flagged(x: Any) -> Any:
        if run.remedied:
            return torch.where(x.sum() > 0, x * 2, x - 1)
        if Flag(x):
            return x * 2
        return x - 1

    doubled_if_flagged(ones(3))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="the program decides by what comes of this, which is data",
    counts=(3, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def decided_by_who_calls(run: Run) -> None:
    def how_many(mask: Any) -> Any:
        return mask.sum().item()  # cause

    @run.compile
    def doubled_if_any(x: Any) -> Any:
        if run.remedied:
            return torch.where((x > 0).any(), x * 2, x)
        count = how_many(x > 0)
        return x if count == 0 else x * 2

    doubled_if_any(ones(3))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="within a torch.autograd.Function no setting makes it a symbol",
    counts=(3, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def item_for_a_backward(run: Run) -> None:
    """With the setting it is an internal error of torch's."""

    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            total = x.sum()
            ctx.total = total if run.remedied else total.item()  # cause
            return x.clamp(-1, 1)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.total

    @run.compile
    def clipped(x: Any) -> Any:
        return Clip.apply(x) * 2  # type: ignore[no-untyped-call]  # torch says no types of it

    clipped(ones(3, requires_grad=True))


@case(
    "", "why-break",
    cause="RNN, GRU, or LSTM",
    advice="Dynamo takes no packed sequence apart, with allow_rnn neither",
    counts=(0, 1),
    never=("allow_rnn = True",),
    function="Tagger",
)  # fmt: skip
def packed_for_a_recurrent_layer(run: Run) -> None:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.LSTM(2, 2, batch_first=True)

        def forward(self, packed: Any) -> Any:
            if run.remedied:
                return packed.data * 2
            out, _ = self.inner(packed)  # cause
            return out.data * 2

    packed = nn.utils.rnn.pack_padded_sequence(ones(2, 3, 2), torch.tensor([3, 2]), True)
    run.compile(Tagger())(packed)


@case(
    "", "why-recompile",
    cause="self.layer_idx grows: 0, 1, 2, 3",
    advice="needs the value of self.layer_idx as a key of a dict",
    counts=(4, 2),
    never=("allow_unspec_int_on_nn_module", "register_buffer"),
)  # fmt: skip
def layers_that_keep_what_they_saw(run: Run) -> None:
    class Layer(nn.Module):
        def __init__(self, layer_idx: int) -> None:
            super().__init__()
            self.layer_idx = layer_idx
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Any, kept: Any) -> Any:
            if not run.remedied:
                kept[self.layer_idx] = x  # cause
            return self.linear(x)

    kept: Any = dict.fromkeys(range(4))
    x = ones(1, 2)
    for at in range(4):
        x = run.compile(Layer(at))(x, kept)


@case(
    "", "why-recompile",
    cause="self.cache.shape[1] changes: 1, 2",
    advice="begin with one of which the size is 2 or more",
    counts=(2, 1),
    never=("mark_unbacked",),
    function="Remembering",
)  # fmt: skip
def cache_that_begins_with_one(run: Run) -> None:
    class Remembering(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cache: Any = ones(1, 2 if run.remedied else 1, 7)

        def forward(self, x: Any) -> Any:
            self.cache = torch.cat([self.cache, x], 1)  # cause
            return self.cache.sum(1)

    remembering = run.compile(Remembering(), dynamic=True)
    for _ in range(4):
        remembering(ones(1, 1, 7))


@case(
    "", "why-failed",
    cause=("x must be Tensor or scalar, got SymInt", "while tracing"),
    advice="the operator takes no symbol: hand times over as a tensor",
    counts=(1, 2),
)  # fmt: skip
def number_in_a_mapped_gradient(run: Run) -> None:
    @run.compile
    def gradients(xs: Any, times: Any) -> Any:
        def loss(x: Any) -> Any:
            return x.sum() * times  # cause

        return torch.func.vmap(torch.func.grad(loss))(xs)

    for times in (2, 3):
        with run.failing():
            gradients(ones(2, 3), torch.tensor(times) if run.remedied and times == 3 else times)


@case(
    "", "why-recompile",
    cause="self.longest grows: 4, 5, 6",
    advice="The program decides by self.longest: do that outside of the compiled function, and set",
    counts=(4, 2),
    never=("register_buffer",),
    function="Places",
)  # fmt: skip
def table_that_grows(run: Run) -> None:
    class Places(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.longest = 8 if run.remedied else 4
            self.table = ones(8, 2)

        def forward(self, x: Any) -> Any:
            if x.shape[0] > self.longest:  # cause
                self.longest = x.shape[0]
            return x + self.table[: x.shape[0]]

    places = run.compile(Places())
    for length in (3, 5, 6, 7):
        places(ones(length, 2))


@case(
    "", "why-break",
    cause="Logger",
    advice="compile the module that it is given, before",
    counts=(1, 1),
)  # fmt: skip
def compiled_around_the_ranks(run: Run) -> None:
    distributed = torch.distributed
    distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        layer = nn.Linear(2, 2)
        inner = run.compile(layer) if run.remedied else layer
        model = nn.parallel.DistributedDataParallel(inner)

        def step(x: Any) -> Any:
            return model(x).sum()  # cause

        (step if run.remedied else run.compile(step))(ones(2, 2))
    finally:
        distributed.destroy_process_group()


@case(
    "", "why-failed",
    cause=("Cannot view a tensor with shape", "while tracing"),
    advice="reshape in place of view",
    counts=(0, 1),
)  # fmt: skip
def viewed_when_transposed(run: Run) -> None:
    @run.compile
    def flat(x: Any) -> Any:
        turned = x.transpose(1, 2)
        return turned.reshape(2, -1) if run.remedied else turned.view(2, -1)  # cause

    with run.failing():
        flat(ones(2, 3, 4))


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


@case(
    "", "why-recompile",
    cause=("xs[0].shape[0] changes: 3, 4", "xs[1].shape[0] changes: 5, 2"),
    advice="that of the others requires xs[1].shape[0] <= xs[0].shape[0]. Keep it on one side",
    counts=(2, 2),
    never=("mark_dynamic",),
)  # fmt: skip
def padded_to_the_longest(run: Run) -> None:
    """With symbols from the first call on they are as many entries."""

    @run.compile
    def together(xs: Any) -> Any:
        return nn.utils.rnn.pad_sequence(xs)  # cause

    for lengths in ((3, 5), (4, 2)):
        together([ones(length) for length in lengths])


@case(
    "", "why-failed",
    cause=("returned an invalid gradient at index 0", "in AOTAutograd"),
    advice="returns a gradient of another shape than the argument has",
    counts=(1, 1),
)  # fmt: skip
def gradient_of_another_shape(run: Run) -> None:
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad if run.remedied else grad[:1]

    @functools.partial(torch.compile, backend=run.traced_again)
    def halved(x: Any) -> Any:
        return Half.apply(x).sum()  # type: ignore[no-untyped-call]  # cause

    with run.failing():
        halved(ones(2, requires_grad=True)).backward()
