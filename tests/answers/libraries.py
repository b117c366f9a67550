"""What torch's own libraries and others do in a call: distributions, losses, loaders, recurrent
layers, distributed wrappers, quantization."""

from __future__ import annotations

import contextlib
import uuid
import warnings
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional
from torch.nn.utils import parametrize
from torch.nn.utils.rnn import pack_padded_sequence, unpad_sequence
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.data import DataLoader, TensorDataset

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="_cache_enabled changes: 0, 1",
    advice="torch.nn.utils.parametrize._cache_enabled is torch's own, and a constant of the graph: "
    "have it alike at all calls.",
    counts=(2, 1),
    never=("over as an argument", "in a tensor"),
)  # fmt: skip
def weights_that_are_kept_at_times(run: Run) -> None:
    class Symmetric(nn.Module):
        def forward(self, weight: Any) -> Any:
            return weight + weight.T

    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Symmetric())

    @run.compile
    def applied(x: Any) -> Any:
        return layer(x)

    if not run.remedied:
        applied(ones(1, 2))
    for _ in range(2):
        with parametrize.cached():
            applied(ones(1, 2))


def _likelihood(x: Any, target: Any, variance: Any) -> Any:
    """What torch computes of that, without its check."""
    return (variance.log() + (x - target) ** 2 / variance).mean() / 2


@case(
    "", "why-break",
    cause="Data dependent operator",
    advice="torch's own gaussian_nll_loss decides by data whether to raise",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def variance_that_breaks(run: Run) -> None:
    @run.compile
    def checked_in_the_middle(x: Any, variance: Any) -> Any:
        if run.remedied:
            return _likelihood(x * 2, x, variance) + 1
        return functional.gaussian_nll_loss(x * 2, x, variance) + 1  # cause

    checked_in_the_middle(ones(2), ones(2))


@case(
    "pytorch#162375", "why-break",
    cause=("pack_padded_sequence", "marked as skipped"),
    advice="call it before or after the compiled function",
    counts=(2, 1),
)  # fmt: skip
def sequences_packed_inside(run: Run) -> None:
    lengths = torch.tensor([3, 2])

    @run.compile
    def packed(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x + 1
        return pack_padded_sequence(x, lengths, batch_first=True).data + 1  # cause

    packed(ones(2, 3, 1))


@case(
    "pytorch#194593", "why-break",
    cause=("Data-dependent branching", "called by tests/answers/libraries.py"),
    advice="the line is a library's: take what `return torch.distributions.kl_divergence(",
    counts=(1, 1),
)  # fmt: skip
def divergence_that_checks(run: Run) -> None:
    known = torch.tensor(0.5)
    counts = torch.tensor([5.0])

    def binomial(share: Any) -> Any:
        return torch.distributions.Binomial(total_count=counts, probs=share)

    @run.compile
    def divergence(one: Any, other: Any) -> Any:
        if run.remedied:
            return known + one - other
        return torch.distributions.kl_divergence(binomial(one), binomial(other))  # cause

    divergence(torch.tensor([0.2]), torch.tensor([0.4]))


@case(
    "", "why-break",
    cause=("Attempted to inline function marked as skipped", "DataLoader.__iter__"),
    advice="loop outside of the compiled function, and compile what is done in a round",
    counts=(1, 1),
)  # fmt: skip
def epoch_over_a_loader(run: Run) -> None:
    loader = DataLoader(TensorDataset(ones(4, 2)), batch_size=2)

    def added(total: Any, x: Any) -> Any:
        return total + x.sum()

    def epoch(total: Any) -> Any:
        for (x,) in loader:  # cause
            total = added(total, x)
        return total

    if run.remedied:
        added = run.compile(added)
        epoch(ones(1))
    else:
        run.compile(epoch)(ones(1))


# Before the next one: behind that, fewer frames would be tried here.
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
    "", "why-break",
    cause="skipping FSDP hooks",
    advice="what breaks is of fully_shard: compile the module that it is given, before",
    counts=(1, 1),
    function="forward_of_shards",
)  # fmt: skip
def compiled_around_the_shards(run: Run) -> None:
    distributed = torch.distributed
    distributed.init_process_group("fake", rank=0, world_size=1, store=FakeStore())
    try:
        layer = nn.Linear(2, 2)
        model = run.compile(layer) if run.remedied else layer
        fully_shard(model, mesh=init_device_mesh("cpu", (1,)))

        def forward_of_shards(x: Any) -> Any:
            return model(x).sum()  # cause

        (forward_of_shards if run.remedied else run.compile(forward_of_shards))(ones(2, 2))
    finally:
        distributed.destroy_process_group()


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


class Quantizable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quantize = torch.ao.quantization.QuantStub()
        self.linear = nn.Linear(4, 4)
        self.dequantize = torch.ao.quantization.DeQuantStub()

    def forward(self, x: Any) -> Any:
        return self.dequantize(self.linear(self.quantize(x)))


def prepared() -> nn.Module:
    """A model that torch has made ready to be quantized."""
    model = Quantizable().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.qconfig = torch.ao.quantization.get_default_qconfig("onednn")  # type: ignore[assignment]  # torch reads it there
        torch.ao.quantization.prepare(model, inplace=True)
    return model


@case(
    "", "why-break",
    cause="_observer_forward_hook",
    advice="Dynamo makes no graph of torch's quantization in eager mode (torch.ao), and no setting",
    counts=(1, 1),
    never=("the line is a library's",),
    function="Quantizable.forward",
)  # fmt: skip
def observed_by_torch(run: Run) -> None:
    model = Quantizable() if run.remedied else prepared()
    run.compile(model)(ones(2, 4))


@case(
    "", "why-break",
    cause="Dynamic shape operator",
    advice="nothing in the program but a setting, as the function that is compiled is a library's",
    counts=(0, 1),
    never=("no change is known",),
    function="unpad_sequence",
)  # fmt: skip
def function_of_torch_that_picks(run: Run) -> None:
    unpadded = run.compile(unpad_sequence)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=run.remedied):
        unpadded(ones(2, 3), torch.tensor([2, 3]), batch_first=True)


@case(
    "", "why-break",
    cause="Unsupported Tensor.item() call",
    advice="or, where the library only computes with the number, torch._dynamo.config.capture",
    counts=(2, 1),
)  # fmt: skip
def average_over_all_batches(run: Run) -> None:
    """torch hands the number on to a function that takes none but Python's: with the setting the
    graph breaks there."""
    model = nn.Sequential(
        nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=0.1 if run.remedied else None)
    )

    @run.compile
    def normed(x: Any) -> Any:
        return model(x * 2).relu()

    normed(ones(2, 4))


UNSEEN = """
def named_inside(x):
    return x * len(str(uuid.uuid4()))
"""


@case(
    "", "why-break", function="named_inside",
    cause=("uuid.py", "called by <made>:3 in named_inside"),
    advice="the line is a library's: take what leads there out of the compiled function",
    counts=(1, 1),
    never=("so is what is compiled",),
)  # fmt: skip
def library_called_by_unseen_code(run: Run) -> None:
    made: dict[str, Any] = {"uuid": uuid}
    text = UNSEEN.replace("uuid.uuid4()", "123") if run.remedied else UNSEEN
    exec(compile(text, "<made>", "exec"), made)  # as libraries make functions
    run.compile(made["named_inside"])(ones(3))


@case(
    "pytorch#194503", "why-failed",
    cause="Could not guard on data-dependent expression",
    advice="torch's own gaussian_nll_loss decides by data whether to raise",
    counts=(0, 1),
    never=("torch.where", "torch._check"),
)  # fmt: skip
def variance_that_is_checked(run: Run) -> None:
    def checked(x: Any, variance: Any) -> Any:
        likelihood = _likelihood if run.remedied else functional.gaussian_nll_loss
        return likelihood(x * 2, x, variance) + 1  # cause

    with contextlib.suppress(torch._dynamo.exc.UserError):
        run.compile(checked, fullgraph=True)(ones(2), ones(2))


@case(
    "pytorch#194596", "why-failed",
    cause=("Data-dependent branching", "torch/distributions/wishart.py"),
    advice="the line is a library's: take what `return torch.distributions.Wishart(",
    counts=(0, 1),
)  # fmt: skip
def distribution_that_checks(run: Run) -> None:
    known = torch.distributions.Wishart(torch.tensor(4.0), torch.eye(2))

    @run.whole
    def averaged(freedom: Any, scale: Any) -> Any:
        if run.remedied:
            return known.mean + scale
        return torch.distributions.Wishart(freedom, scale).mean + scale  # cause

    with contextlib.suppress(Exception):
        averaged(torch.tensor(4.0), torch.eye(2))
