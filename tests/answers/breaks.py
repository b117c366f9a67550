"""Programs whose graphs break, as people reported them."""

from __future__ import annotations

import contextlib
import copy
import logging
import time
import warnings
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones
logger = logging.getLogger(__name__)


@case(
    "pytorch#108650", "why-break",
    cause="logging.Logger method not supported",
    advice="log outside of the compiled function",
    counts=(2, 1),
)  # fmt: skip
def logger_info(run: Run) -> None:
    @run.compile
    def upsampled(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            logger.info("Forward upsample size to force interpolation output size.")  # cause
        return x + 1

    upsampled(ones(2))


@case(
    "pytorch#110886", "why-break",
    cause="builtin operator `print`",
    advice="torch._dynamo.config.reorderable_logging_functions.add(print)",
    counts=(2, 1),
)  # fmt: skip
def printing(run: Run) -> None:
    if run.remedied:
        torch._dynamo.config.reorderable_logging_functions.add(print)

    @run.compile
    def chatty(x: Any) -> Any:
        x = x * 2
        print("the mean is", x.mean())  # cause
        return x + 1

    chatty(ones(2))
    torch._dynamo.config.reorderable_logging_functions.discard(print)


@case(
    "torchdynamo#1940", "why-break",
    cause="Tensor.item()",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
)  # fmt: skip
def item_of_a_tensor(run: Run) -> None:
    torch._dynamo.config.capture_scalar_outputs = run.remedied

    @run.compile
    def width(box: Any) -> Any:
        box = box * 2
        wide = box[0].item()  # cause
        return box + wide

    width(ones(4))
    torch._dynamo.config.capture_scalar_outputs = False


@case(
    "torchdynamo#930", "why-break",
    cause="Data-dependent branching",
    advice="torch.where",
    counts=(2, 1),
)  # fmt: skip
def branch_on_data(run: Run) -> None:
    @run.compile
    def clipped(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where(x.sum() > 0, x - 1, x + 1)
        if x.sum() > 0:  # cause
            return x - 1
        return x + 1

    clipped(ones(2))


@case(
    "pytorch#128942", "why-break",
    cause="Cannot trace class definition",
    advice="define the class outside of the compiled function",
    counts=(2, 1),
)  # fmt: skip
def class_in_a_function(run: Run) -> None:
    class Outside:
        offset = 2

    @run.compile
    def with_a_class(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x + Outside.offset

        class Inside:  # cause
            offset = 2

        return x + Inside.offset

    with_a_class(ones(2))


@case(
    "torchdynamo#943", "why-break",
    cause="Unsupported Tensor.backward() call",
    advice="call backward outside of the compiled function",
    counts=(2, 1),
)  # fmt: skip
def backward_inside(run: Run) -> None:
    weight = torch.ones(2, requires_grad=True)

    def loss(x: Any) -> Any:
        return (x * weight).sum()

    @run.compile
    def train(x: Any) -> Any:
        value = loss(x)
        value.backward()  # cause
        return value * 2

    compiled = run.compile(loss)
    if run.remedied:
        compiled(ones(2)).backward()
    else:
        train(ones(2))


@case(
    "", "why-break",
    cause="torch.compiler.disable",
    advice="remove torch.compiler.disable",
    counts=(2, 1),
)  # fmt: skip
def disabled_helper(run: Run) -> None:
    def helper(x: Any) -> Any:
        return x + 1

    off = helper if run.remedied else torch.compiler.disable(helper)

    @run.compile
    def calls_a_helper(x: Any) -> Any:
        x = x * 2
        x = off(x)  # cause
        return x * 3

    calls_a_helper(ones(2))


@case(
    "", "why-break",
    cause="graph_break()",
    advice="remove the call; somebody asked for this break",
    counts=(2, 1),
)  # fmt: skip
def asked_for(run: Run) -> None:
    @run.compile
    def broken(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            torch._dynamo.graph_break()  # cause
        return x * 3

    broken(ones(2))


@case(
    "", "why-break",
    cause="aten.nonzero.default",
    advice="capture_dynamic_output_shape_ops = True",
    counts=(2, 1),
)  # fmt: skip
def size_from_data(run: Run) -> None:
    torch._dynamo.config.capture_dynamic_output_shape_ops = run.remedied

    @run.compile
    def chosen(x: Any) -> Any:
        x = x * 2
        rows = torch.nonzero(x)  # cause
        return rows + 1

    chosen(ones(2))
    torch._dynamo.config.capture_dynamic_output_shape_ops = False


@case(
    "", "why-break",
    cause="time.time",
    advice="measure around the call",
    counts=(2, 1),
)  # fmt: skip
def clock(run: Run) -> None:
    @run.compile
    def timed(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            time.time()  # cause
        return x + 1

    timed(ones(2))


@case(
    "", "why-break",
    cause="builtin operator `open`",
    advice="read or write files outside of the compiled function",
    counts=(2, 1),
)  # fmt: skip
def file_read(run: Run) -> None:
    @run.compile
    def reads(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            open(__file__).close()  # cause
        return x + 1

    reads(ones(2))


@case(
    "", "why-break",
    cause="_warnings.warn",
    advice="reorderable_logging_functions.add(warnings.warn)",
    counts=(2, 1),
)  # fmt: skip
def warning(run: Run) -> None:
    if run.remedied:
        torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)

    @run.compile
    def warns(x: Any) -> Any:
        x = x * 2
        warnings.warn("deprecated", stacklevel=2)  # cause
        return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warns(ones(2))
    torch._dynamo.config.reorderable_logging_functions.discard(warnings.warn)


@case(
    "", "why-break",
    cause="requires_grad_",
    advice="call requires_grad_ before the compiled function",
    counts=(2, 1),
)  # fmt: skip
def gradients_asked_for_inside(run: Run) -> None:
    @run.compile
    def asks(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            x.requires_grad_()  # cause
        return x + 1

    asks(ones(2))


@case(
    "", "why-break",
    cause="numpy function unsupported",
    advice="the torch function of the same purpose",
    counts=(2, 1),
)  # fmt: skip
def numpy_in_the_middle(run: Run) -> None:
    @run.compile
    def through_numpy(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x + x.sum()
        return x + float(np.random.default_rng(0).random())  # cause

    through_numpy(ones(2))


@case(
    "", "why-break",
    cause=("Attempted to copy.deepcopy a tensor", "called by tests/answers/breaks.py"),
    advice="copy before the compiled function",
    counts=(2, 1),
)  # fmt: skip
def module_copied_inside(run: Run) -> None:
    model = nn.Linear(2, 2)

    @run.compile
    def copies(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            copy.deepcopy(model)  # cause
        return x + 1

    copies(ones(2))


@case(
    "", "why-break",
    cause="skip_frame()",
    advice="remove the call; somebody asked for this",
    counts=(0, 1),
)  # fmt: skip
def frame_skipped_by_hand(run: Run) -> None:
    @run.compile
    def skipped(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            torch._dynamo.skip_frame()  # cause
        return x * 3

    skipped(ones(2))


@case(
    "", "why-break",
    cause="Tensor.random_ op",
    advice="use torch.randint",
    counts=(2, 1),
)  # fmt: skip
def random_in_place(run: Run) -> None:
    @run.compile
    def noisy(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            x = torch.randint(0, 3, (2,))
        else:
            x.random_(0, 3)  # cause
        return x + 1

    noisy(ones(2))


@case(
    "", "why-break",
    cause="setattr() on Tensor.requires_grad",
    advice="set requires_grad before the compiled function",
    counts=(2, 1),
)  # fmt: skip
def requires_grad_set_inside(run: Run) -> None:
    @run.compile
    def asks(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            x.requires_grad = True  # cause
        return x + 1

    asks(ones(2))


@case(
    "", "why-break",
    cause="is_inference",
    advice="ask outside of the compiled function",
    counts=(2, 1),
)  # fmt: skip
def mode_of_inference(run: Run) -> None:
    @run.compile
    def asks(x: Any, known: bool) -> Any:
        x = x * 2
        inference = known if run.remedied else x.is_inference()  # cause
        return x + inference

    asks(ones(2), False)


@case(
    "", "why-break",
    cause=("Observed exception", "KeyError"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def missing_key(run: Run) -> None:
    """The program fails, compiled or not."""
    values = {"known": 1} if run.remedied else {}

    @run.compile
    def looked_up(x: Any) -> Any:
        x = x * 2
        return x + values["known"]  # cause

    with contextlib.suppress(KeyError):
        looked_up(ones(2))


@case(
    "", "why-break",
    cause=("Observed exception", "unsupported operand type(s) for %"),
    advice="decide by it before the compiled function",
    counts=(0, 1),
    never=("handle what raises",),
)  # fmt: skip
def address_of_a_tensor(run: Run) -> None:
    """The program raises nothing: Dynamo has no number for the address while it translates."""

    def aligned(x: Any) -> bool:
        return bool(x.data_ptr() % 2 == 0)

    @run.compile
    def shifted(x: Any, known: bool) -> Any:
        return x + (known if run.remedied else x.data_ptr() % 2 == 0)  # cause

    x = ones(2)
    shifted(x, aligned(x))


@case(
    "", "why-break",
    cause="Attempted to use tensor creation function with requires_grad=True",
    advice="make the tensor before the compiled function",
    counts=(1, 1),
)  # fmt: skip
def leaf_made_inside(run: Run) -> None:
    outside = torch.ones(2, requires_grad=True)

    @run.compile
    def weighted(x: Any) -> Any:
        weight = outside if run.remedied else torch.ones(2, requires_grad=True)  # cause
        return x * weight + 1

    weighted(ones(2))


@case(
    "", "why-break",
    cause="can't actually be reordered",
    advice="pass it tensors, constants and strings only",
    counts=(2, 1),
)  # fmt: skip
def reordered_print_of_a_list(run: Run) -> None:
    torch._dynamo.config.reorderable_logging_functions.add(print)

    @run.compile
    def chatty(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            print("the values are", x)
        else:
            print("the values are", [x])  # cause
        return x + 1

    chatty(ones(2))
    torch._dynamo.config.reorderable_logging_functions.discard(print)


@case(
    "", "why-break",
    cause="Failed to mutate tensor data attribute",
    advice="make a new tensor instead of assigning .data",
    counts=(2, 1),
)  # fmt: skip
def data_assigned(run: Run) -> None:
    @run.compile
    def widened(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            x = x.double()
        else:
            x.data = x.data.double()  # cause
        return x + 1

    widened(ones(2))


@case(
    "", "why-break",
    cause="marked as skipped",
    advice="call it before or after the compiled function",
    counts=(2, 1),
)  # fmt: skip
def gradients_cleared_inside(run: Run) -> None:
    layer = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(layer.parameters())

    @run.compile
    def forward(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            optimizer.zero_grad()  # cause
        return layer(x)

    forward(ones(2))
