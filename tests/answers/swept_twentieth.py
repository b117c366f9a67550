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


SHOWN = {"first": 2}


@case(
    "", "why-recompile",
    cause="SHOWN['first'] grows: 2, 3, 4",
    advice="Hand SHOWN['first'] over as an argument, or take the slice outside",
    counts=(3, 2),
    never=("in a tensor",),
)  # fmt: skip
def slice_that_a_global_bounds(run: Run) -> None:
    """The number is asked for only where the slice is taken, behind the instruction that makes its
    bounds; in a tensor it would be no bound."""
    SHOWN["first"] = 2

    @run.compile
    def shown(x: Any, first: int) -> Any:
        return x[: first if run.remedied else SHOWN["first"]].sum()  # cause

    for first in (2, 3, 4):
        SHOWN["first"] = first
        shown(ones(8), first if run.remedied else 0)


@torch.library.custom_op("stepper_answers::bent", mutates_args=())
def bent(x: torch.Tensor) -> torch.Tensor:
    return x * x


@bent.register_fake
def _of_bent(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def _keep(ctx: Any, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _derivative(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
    (x,) = ctx.saved_tensors
    made = 2 * gradient * x
    return made if x.dim() > 1 else made[:2]


bent.register_autograd(_derivative, setup_context=_keep)


@case(
    "", "why-failed",
    cause=("BackendCompilerFailed in AOTAutograd", "bent(x)"),
    advice="",
    counts=(1, 1),
    never=("to blame is not recorded",),
)  # fmt: skip
def derivative_of_another_shape(run: Run) -> None:
    """torch names the derivative after the operator, of which there is one in the graph."""

    def f(x: Any) -> Any:
        return (bent(x[None])[0] if run.remedied else bent(x)).sum()  # cause

    with run.failing():
        torch.compile(f, backend=run.traced_again)(ones(3, requires_grad=True)).backward()


@case(
    "", "why-failed",
    cause=("BackendCompilerFailed in AOTAutograd", "of which node, is not recorded"),
    advice="",
    counts=(1, 1),
)  # fmt: skip
def one_of_two_derivatives(run: Run) -> None:
    def f(x: Any) -> Any:
        return (bent(bent(x[None]))[0] if run.remedied else bent(bent(x))).sum()

    with run.failing():
        torch.compile(f, backend=run.traced_again)(ones(3, requires_grad=True)).backward()


NOTED = {"size": 0}


@case(
    "", "why-recompile",
    cause=("NOTED['size'] grows: 2, 3, 4", "a compiled function sets it: tests/answers/swept_tw"),
    advice="Hand NOTED['size'] over as an argument",
    counts=(5, 4),
    function="cut_to_the_noted_size",
)  # fmt: skip
def global_that_another_sets(run: Run) -> None:
    @run.compile
    def note_the_size(x: Any) -> Any:
        NOTED["size"] = x.shape[0]
        return x * 1

    @run.compile
    def cut_to_the_noted_size(x: Any, size: int) -> Any:
        return x[: size if run.remedied else NOTED["size"]].sum()  # cause

    for size in (2, 3, 4):
        note_the_size(ones(size))
        cut_to_the_noted_size(ones(8), NOTED["size"] if run.remedied else 0)


TAGS: set[str] = set()


@case(
    "", "why-recompile",
    cause="TAGS changes: set(), {'tag'}",
    advice="TAGS is changed by the compiled function itself at",
    counts=(2, 1),
)  # fmt: skip
def tags_noted_in_a_set(run: Run) -> None:
    TAGS.clear()

    @run.compile
    def note_the_tag(x: Any) -> Any:
        if not run.remedied:
            TAGS.add("tag")  # cause
        return x * 2

    for _ in range(3):
        note_the_tag(ones(2))
        TAGS.add("tag")


@case(
    "", "why-recompile",
    cause="TAGS changes: set(), {'0'}, {",
    advice="Each value of TAGS is compiled by itself",
    counts=(3, 1),
    never=("is changed by the compiled function itself",),
)  # fmt: skip
def tags_that_the_program_puts_in(run: Run) -> None:
    """The compiled function takes some away, and there are more from call to call."""
    TAGS.clear()

    @run.compile
    def weigh_by_tags(x: Any) -> Any:
        TAGS.discard("none")  # cause
        return x * 2

    for number in range(3):
        weigh_by_tags(ones(2))
        if not run.remedied:
            TAGS.add(str(number))
