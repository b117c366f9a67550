"""Programs of a sixteenth sweep: numbers by which the program decides later than it reads them,
breaks that follow one on the other, and others."""

from __future__ import annotations

import logging
import types
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn, ones
from torch._dynamo import config

from tests.answers.cases import Run, case

LEVEL = [1]
F = types.ModuleType("of_the_programs_own")
exec("def topk(x, times):\n    return x * times\n", vars(F))
LOG = logging.getLogger(__name__)


@case(
    "", "why-recompile",
    cause="rate changes: 0.1, 0.2",
    advice="To save the entry for its first value: torch.compile(dynamic=True).",
    counts=(2, 1),
    never=("in a tensor",),
)  # fmt: skip
def rate_that_is_compared_later(run: Run) -> None:
    """In a tensor it would break the graph where the program decides by it."""

    def weighted_unless_small(x: Any, rate: Any) -> Any:
        y = x * rate  # cause
        return y + 1 if rate > 0.5 else y

    compiled = run.compile(weighted_unless_small, dynamic=True if run.remedied else None)
    for rate in (0.1, 0.2, 0.3):
        compiled(ones(3), rate)


@case(
    "", "why-recompile",
    cause="self.step grows: 0, 1, 2, 3",
    advice="The program decides by self.step: do that outside of the compiled function, and set it "
    "there",
    counts=(4, 2),
    never=("in a tensor",),
)  # fmt: skip
def turn_of_each_second_step(run: Run) -> None:
    """It decides by what is left of a number, which is a constant like it."""

    class Alternating(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.step = 0

        def forward(self, x: Any, even: bool | None = None) -> Any:
            if even is None:
                self.step += 1  # cause
                even = self.step % 2 == 0
            return x * 2 if even else x + 1

    compiled = run.compile(Alternating())
    for step in range(4):
        compiled(ones(2), step % 2 == 1 if run.remedied else None)


@case(
    "", "why-recompile",
    cause="LEVEL[0] grows: 1, 3, 5",
    advice="Hand LEVEL[0] over as an argument, or hand over what is decided by it",
    counts=(3, 2),
    never=("in a tensor",),
)  # fmt: skip
def level_that_is_doubled(run: Run) -> None:
    @run.compile
    def raised(x: Any, level: Any = None) -> Any:
        doubled = (LEVEL[0] if level is None else level) * 2  # cause
        return x + doubled if doubled > 4 else x * doubled

    for level in (1, 3, 5):
        LEVEL[0] = 1 if run.remedied else level
        raised(ones(2), level if run.remedied else None)


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
    "", "why-recompile",
    cause="x.shape[1] grows: 64, 128, 256",
    advice="Where that is on purpose, as with sizes padded to a few, an entry for each is the",
    counts=(3, 2),
)  # fmt: skip
def padded_to_buckets(run: Run) -> None:
    def summed_up(x: Any) -> Any:
        return x.cumsum(1)  # cause

    compiled = run.compile(summed_up, dynamic=None if run.remedied else False)
    for length in (64, 128, 256):
        compiled(ones(2, length))


@torch.library.custom_op("tests_answers::interpolated", mutates_args=())
def interpolated(x: Tensor) -> Tensor:
    return torch.from_numpy(np.interp(x.numpy(), [0, 1], [0, 2]))


@interpolated.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


@case(
    "", "why-break",
    cause="Can't find numpy numpy function",
    advice="where there is one; or wrap the call as a custom operator",
    counts=(2, 1),
)  # fmt: skip
def interpolated_by_numpy(run: Run) -> None:
    """Torch has no function of that purpose."""

    @run.compile
    def warped(x: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            return interpolated(doubled) + x
        return torch.from_numpy(np.interp(doubled.numpy(), [0, 1], [0, 2])) + x  # cause

    warped(ones(3, dtype=torch.float64))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="Python itself takes the number, which is data (print()), and no setting helps",
    counts=(2, 1),
    never=("change: keep the value a tensor; or",),
)  # fmt: skip
def loss_that_is_printed(run: Run) -> None:
    """With the setting it breaks at print(), which cannot wait with a symbol."""

    @run.compile
    def stepped(x: Any) -> Any:
        loss = (x * 2).mean()
        if not run.remedied:
            print("loss", loss.item())  # cause
        return loss * 3, loss

    _, loss = stepped(ones(3))
    print(loss.item())


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="torch._dynamo.config.capture_scalar_outputs = True alone only moves the break to",
    counts=(2, 1),
    never=("change: keep the value a tensor; or",),
)  # fmt: skip
def loss_that_is_logged(run: Run) -> None:
    """The next break is at the same line, with nothing between them."""

    @run.compile
    def trained(x: Any) -> Any:
        loss = (x * 2).mean()
        if not run.remedied:
            LOG.info("loss %s", loss.item())  # cause
        return loss * 3, loss

    _, loss = trained(ones(3))
    LOG.info("loss %s", loss.item())


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="keep the value a tensor; or, where the program decides nothing by it",
    counts=(3, 2),
    never=("only moves the break",),
)  # fmt: skip
def computed_before_it_is_printed(run: Run) -> None:
    """A graph lies between the two breaks."""
    if run.remedied:
        config.capture_scalar_outputs = True

    @run.compile
    def counted(x: Any) -> Any:
        number = (x * 2).sum().int().item()  # cause
        times = x * number
        print("here")
        return times + number

    counted(ones(3))


@case(
    "", "why-break",
    cause="Dynamic shape operator",
    advice="torch._dynamo.config.capture_dynamic_output_shape_ops = True alone only moves the",
    counts=(2, 1),
)  # fmt: skip
def found_and_then_printed(run: Run) -> None:
    if run.remedied:
        config.capture_dynamic_output_shape_ops = True

    @run.compile
    def picked(x: Any) -> Any:
        found = (x > 0).nonzero()  # cause
        if not run.remedied:
            print("found", found)
        return x[found] + 1

    picked(ones(3))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is 16: the conditions on sizes together leave nothing else",
        "requires s77 <= 30", "requires Eq(Mod(s77, 8), 0)", "requires s77 > 12",
        "requires s77 < 20",
    ),
    counts=(1, 1),
    never=("condition not shown", "conditions not shown"),
)  # fmt: skip
def size_left_by_many_conditions(run: Run) -> None:
    """As many as are asked have to do with it."""

    def stepped_by_size(x: Any) -> Any:
        size = x.shape[0]
        for bound in range(30, 20, -1):
            if size > bound:
                x = x + bound
        if size % 8 == 0 and size > 12:
            x = x * 2
        return x + 1 if size < 20 else x

    run.compile(stepped_by_size, dynamic=True)(ones(16))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is free: the symbol s77, 2 to 21", "requires s77 <= 21", "2 earlier"),
    counts=(1, 1),
)  # fmt: skip
def size_below_many_bounds(run: Run) -> None:
    """The last condition is the one that holds."""

    def bounded_by_size(x: Any) -> Any:
        for bound in range(30, 20, -1):
            if x.shape[0] > bound:
                x = x + bound
        return x

    run.compile(bounded_by_size, dynamic=True)(ones(16))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="keep the value a tensor; or, where the program decides nothing by it",
    counts=(2, 1),
    never=("of torch",),
)  # fmt: skip
def handed_to_an_own_function(run: Run) -> None:
    """It has the name of one of torch's, in a module that has another's."""
    if run.remedied:
        config.capture_scalar_outputs = True

    @run.compile
    def multiplied(x: Any) -> Any:
        times = (x * 2).sum().int().item()  # cause
        return F.topk(x, times) + 1

    multiplied(ones(3))


@case(
    "", "why-recompile",
    cause="self.most grows: 2, 3, 4",
    advice="makes it a symbol, which helps unless something needs its value: an index into a "
    "list, say, or the length of a loop. An int that is an argument is one, too",
    counts=(3, 2),
    never=("in a tensor",),
)  # fmt: skip
def most_likely_tokens(run: Run) -> None:
    """torch.topk takes no tensor for it: the graph would break."""
    if run.remedied:
        config.allow_unspec_int_on_nn_module = True

    class Sampling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.most = 2

        def forward(self, logits: Any) -> Any:
            return logits.topk(self.most)[0].softmax(-1)  # cause

    sampling = Sampling()
    sampled = run.compile(sampling)
    for most in (2, 3, 4):
        sampling.most = most
        sampled(ones(8))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="put the check into the graph: torch._assert_async(condition, message)",
    counts=(2, 1),
    never=("capture_scalar_outputs = True, which",),
)  # fmt: skip
def asserted_not_to_be_nan(run: Run) -> None:
    """With the setting it breaks at `not`."""

    @run.compile
    def doubled_if_finite(x: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            torch._assert_async(doubled.isnan().logical_not().all(), "nan")
        else:
            assert not doubled.isnan().any().item(), "nan"  # cause
        return doubled + 1

    doubled_if_finite(ones(2))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="put the check into the graph: torch._assert_async(condition, message)",
    counts=(2, 1),
    never=("capture_scalar_outputs = True, which", "torch.cond"),
)  # fmt: skip
def raised_on_the_worst(run: Run) -> None:
    """With the setting it breaks where the program decides whether to raise."""

    @run.compile
    def doubled_if_small(x: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            torch._assert_async(doubled.max() <= 5, "too large")
            return doubled + 1
        worst = doubled.max().item()  # cause
        if worst > 5:
            raise ValueError("too large")
        return doubled + 1

    doubled_if_small(ones(2))
