"""Programs of a twentieth sweep: hooks, flags, quantization, operators of one's own."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn, ones

from tests.answers.cases import Run, case


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


class Phase:
    warm = False


@case(
    "", "why-recompile",
    cause="keys of phase.__dict__ changes: without 'warm', with 'warm'",
    advice="to what they are later: each value of phase.warm is compiled by itself",
    counts=(2, 1),
)  # fmt: skip
def flag_that_the_class_has_first(run: Run) -> None:
    """To set it where the object is made would leave that it is False once, and True later."""
    phase = Phase()
    if run.remedied:
        phase.warm = True

    @run.compile
    def served(x: Any) -> Any:
        return x * 2 if phase.warm else x + 1  # cause

    served(ones(2))
    phase.warm = True
    served(ones(2))


@case(
    "", "why-recompile",
    cause="options['mask'] is not there",
    advice="and with a tensor there: None would take an entry, too",
    counts=(2, 1),
    never=("DIMENSION_DYNAMIC_MARKING_GUARD",),
)  # fmt: skip
def mask_in_the_first_call(run: Run) -> None:
    @run.compile
    def masked(**options: Any) -> Any:
        mask = options.get("mask")  # cause
        return options["ids"] * 2 if mask is None else options["ids"] * mask

    masked(ids=ones(2), mask=ones(2))
    masked(ids=ones(2), **({"mask": ones(2)} if run.remedied else {}))


@case(
    "", "why-recompile",
    cause="length of options changes: 2, 1",
    advice="with the same for options['mask'], which is read: None",
    counts=(2, 1),
    never=("options['ids'], ",),
)  # fmt: skip
def all_that_is_handed_over(run: Run) -> None:
    """What stands in each call has nothing to do with it."""

    @run.compile
    def added(**options: Any) -> Any:
        total = 0
        for value in options.values():  # cause
            total = total + value
        return total

    added(ids=ones(2), mask=ones(2))
    added(ids=ones(2), **({"mask": ones(2)} if run.remedied else {}))


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 2, 3  (1 of 2)", "at changes: 2, 3  (1 of 2)"),
    advice="To save the entry for its first size: torch._dynamo.mark_dynamic(x, 0)",
    counts=(3, 1),
    never=("a mark alone is refused",),
)  # fmt: skip
def clients_in_turn(run: Run) -> None:
    """Both change from 2 to 3, and in different calls: nothing says that they go together."""

    @run.compile
    def shifted(x: Any, at: Any) -> Any:
        return x * at  # cause

    shifted = run.compile(shifted, dynamic=True) if run.remedied else shifted
    for at in (2, 3):
        for many in (2, 3, 4):
            shifted(ones(many), at)


@case(
    "", "why-recompile",
    cause=("many changes: 3, 4", "rows.shape[0] changes: 3, 4"),
    advice="is what first_rows goes on with after its graph break, as a number of Python",
    counts=(5, 1),
    never=("changes whenever",),
    function="first_rows, resumed at",
)  # fmt: skip
def rows_left_by_a_break(run: Run) -> None:
    """Without the break the rows are no argument of a function that goes on, either."""

    @run.compile
    def first_rows(x: Any) -> Any:
        if run.remedied:
            return x * (torch.arange(8) < x[0])
        many = int(x[0].item())
        rows = x[:many]
        torch._dynamo.graph_break()
        return rows * many  # cause

    for many in (3.0, 4.0):
        first_rows(torch.full((8,), many))


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


@torch.library.custom_op("stepper_answers::above", mutates_args=())
def above(x: torch.Tensor, least: float) -> torch.Tensor:
    """Where something is larger."""
    return torch.nonzero(x > least).squeeze(-1)


@above.register_fake
def _of_above(x: torch.Tensor, least: float) -> torch.Tensor:
    return x.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.long)


@case(
    "", "why-break",
    cause="stepper_answers.above.default",
    advice="the program decides by how many elements come out, which is data: with its setting it",
    counts=(1, 1),
    never=("the line is a library's",),
)  # fmt: skip
def detections_if_any(run: Run) -> None:
    """With the setting, `if len(…)` is an error."""

    @run.compile
    def summed(x: Any) -> Any:
        if run.remedied:
            return torch.where((x > 0.5).any(), x * (x > 0.5), x).sum()
        found = above(x, 0.5)
        return x[found].sum() if len(found) else x.sum()

    summed(ones(4))


@case(
    "", "why-break",
    cause="stepper_answers.above.default",
    advice="torch._dynamo.config.capture_dynamic_output_shape_ops = True",
    counts=(1, 1),
    never=("the line is a library's",),
)  # fmt: skip
def detections_of_ones_own(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x[above(x, 0.5)] * 2

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=run.remedied):
        doubled(ones(4))
